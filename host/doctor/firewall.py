"""Does a rule set let UDP to port 4791 in? Reads what ``nft -j list ruleset`` and ``iptables -S INPUT`` print.

Rules are walked in order, as for a packet of a front end. One that asks for anything beside protocol and port (an
address, an interface, a state, another chain) may match or not, and the answer is then ``maybe``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROCE_PORT = 4791
_HOOKS = ("prerouting", "input")
_FAMILIES = ("ip", "inet", "netdev")
_ACCEPTS, _REFUSES = ("accept",), ("drop", "reject")
_ELSEWHERE = ("jump", "goto", "xt", "vmap", "queue")


class Answer(StrEnum):
    """What becomes of such a packet."""

    PASSES = "passes"
    MAYBE = "maybe"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Verdict:
    """An answer, and the rule or policy that gives it."""

    answer: Answer
    by: str


@dataclass(frozen=True)
class _Rule:
    matches: bool | None
    """``None``: it depends."""
    action: str
    text: str


def _walk(rules: Iterable[_Rule], policy: str, name: str) -> Verdict:
    """Let a packet go through a chain."""
    maybe: _Rule | None = None
    accepted = False
    for rule in rules:
        if rule.matches is False or not rule.action:
            continue
        if rule.matches is None or rule.action not in (*_ACCEPTS, *_REFUSES):
            maybe = maybe or (rule if rule.action not in _ACCEPTS else None)
            accepted = accepted or rule.action not in _REFUSES
            continue
        if rule.action in _REFUSES:
            return Verdict(Answer.MAYBE if accepted else Answer.DROPPED, rule.text)
        return Verdict(Answer.MAYBE, maybe.text) if maybe else Verdict(Answer.PASSES, rule.text)
    if policy in _REFUSES:
        return Verdict(Answer.MAYBE if accepted else Answer.DROPPED, f"the policy of {name} is {policy}")
    return Verdict(Answer.MAYBE, maybe.text) if maybe else Verdict(Answer.PASSES, f"the policy of {name} is accept")


def _strictest(verdicts: list[Verdict]) -> Verdict | None:
    order = (Answer.DROPPED, Answer.MAYBE, Answer.PASSES)
    return min(verdicts, key=lambda verdict: order.index(verdict.answer), default=None)


def nft_verdict(text: str) -> Verdict | None:
    """Judge a rule set in JSON; ``None`` if it is not one, or has no chain for incoming packets."""
    try:
        entries = json.loads(text)["nftables"]
        chains = [entry["chain"] for entry in entries if "chain" in entry]
        rules = [entry["rule"] for entry in entries if "rule" in entry]
        verdicts = []
        for chain in chains:
            if chain.get("hook") not in _HOOKS or chain["family"] not in _FAMILIES:
                continue
            key = (chain["family"], chain["table"], chain["name"])
            own = [rule for rule in rules if (rule["family"], rule["table"], rule["chain"]) == key]
            name = f"nft chain {' '.join(key)}"
            verdicts.append(_walk([_nft_rule(rule["expr"], name) for rule in own], chain.get("policy", "accept"), name))
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return None
    return _strictest(verdicts)


def _nft_rule(expressions: list[dict[str, Any]], name: str) -> _Rule:
    matches: bool | None = True
    action = ""
    for expression in expressions:
        kind = next(iter(expression))
        if kind == "match":
            matches = _both(matches, _nft_match(expression["match"]))
        elif kind in (*_ACCEPTS, *_REFUSES, *_ELSEWHERE):
            action = kind
    return _Rule(matches, action, f"{name} has a rule with {action}")


def _nft_match(match: dict[str, Any]) -> bool | None:
    left, right = match["left"], match["right"]
    if left == {"payload": {"protocol": "udp", "field": "dport"}}:
        inside: bool | None = _nft_holds(right, ROCE_PORT)
    elif left in ({"meta": {"key": "l4proto"}}, {"payload": {"protocol": "ip", "field": "protocol"}}):
        inside = _nft_holds(right, "udp") or _nft_holds(right, 17)
    elif "payload" in left and left["payload"].get("protocol") in ("tcp", "icmp", "icmpv6", "ip6"):
        return False
    else:
        return None
    return inside if match.get("op", "==") in ("==", "in") else not inside if match["op"] == "!=" else None


def _nft_holds(right: Any, value: Any) -> bool:
    if isinstance(right, dict) and "set" in right:
        return any(_nft_holds(member, value) for member in right["set"])
    if isinstance(right, dict) and "range" in right and isinstance(value, int):
        first, last = right["range"]
        return bool(first <= value <= last)
    return bool(right == value)


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def iptables_verdict(text: str) -> Verdict | None:
    """Judge the rules of a chain as ``iptables -S`` prints them; ``None`` if that is not what it is."""
    policy, rules = None, []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["-P"] and len(words) == 3:
            policy = words[2].lower()
        elif words[:1] == ["-A"]:
            rules.append(_iptables_rule(words[2:], line))
    return None if policy is None else _walk(rules, policy, "iptables chain INPUT")


def _iptables_rule(words: list[str], line: str) -> _Rule:
    matches: bool | None = True
    action = ""
    position = 0
    while position < len(words):
        word, value = words[position], words[position + 1] if position + 1 < len(words) else ""
        position += 2
        if word in ("-j", "-g"):
            action = value.lower()
            break
        if word == "-p":
            matches = _both(matches, value in ("udp", "all", "17"))
        elif word in ("--dport", "--dports"):
            matches = _both(matches, any(_port_in(part) for part in value.split(",")))
        elif word != "-m" or value not in ("udp", "multiport"):
            matches = _both(matches, None)
    return _Rule(matches, action, f"iptables has {line!r}")


def _port_in(text: str) -> bool:
    first, _, last = text.partition(":")
    return first.isdecimal() and int(first) <= ROCE_PORT <= int(last if last.isdecimal() else first)

"""Rule sets that let UDP 4791 in, or do not, or may."""

import pytest

from host.doctor import Level
from host.doctor.firewall import Answer, iptables_verdict, nft_verdict
from tests.host.doctor.machines import MadeUp, nft, port, state

ACCEPT, DROP, REJECT, JUMP = {"accept": None}, {"drop": None}, {"reject": None}, {"jump": {"target": "other"}}
LOG = {"log": None}
PROTOCOL = {"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "udp"}}
TCP = {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 22}}
PASSES, MAYBE, DROPPED = Answer.PASSES, Answer.MAYBE, Answer.DROPPED


@pytest.mark.parametrize(
    ("rules", "policy", "answer"),
    [
        ([], "accept", PASSES),
        ([], "drop", DROPPED),
        ([[port(4791), DROP]], "accept", DROPPED),
        ([[port(4791), ACCEPT]], "drop", PASSES),
        ([[port(4792), DROP]], "accept", PASSES),
        ([[port(4792), ACCEPT]], "drop", DROPPED),
        ([[port({"set": [53, 4791]}), ACCEPT]], "drop", PASSES),
        ([[port({"range": [4000, 5000]}), REJECT]], "accept", DROPPED),
        ([[port({"set": [{"range": [1, 9]}]}), REJECT]], "accept", PASSES),
        ([[port(53, "!="), DROP]], "accept", DROPPED),
        ([[port(53, "<"), DROP]], "accept", MAYBE),
        ([[PROTOCOL, DROP]], "accept", DROPPED),
        ([[TCP, ACCEPT]], "drop", DROPPED),
        ([[TCP, DROP]], "accept", PASSES),
        ([[state(), ACCEPT]], "drop", MAYBE),
        ([[state(), ACCEPT], [port(4791), ACCEPT]], "drop", PASSES),
        ([[state(), port(4791), DROP]], "accept", MAYBE),
        ([[state(), port(4792), DROP]], "accept", PASSES),
        ([[state(), ACCEPT], [DROP]], "accept", MAYBE),
        ([[JUMP]], "accept", MAYBE),
        ([[JUMP]], "drop", MAYBE),
        ([[JUMP], [port(4791), ACCEPT]], "drop", MAYBE),
        ([[LOG]], "accept", PASSES),
        ([[port(4791), ACCEPT], [DROP]], "drop", PASSES),
    ],
)
def test_nft(rules, policy, answer):
    verdict = nft_verdict(nft(*rules, policy=policy))
    assert verdict is not None and verdict.answer is answer, verdict


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "3", '{"nftables": 1}', '{"nftables": [{"chain": {"hook": "input"}}]}']
)
def test_what_is_no_rule_set_has_no_verdict(text):
    assert nft_verdict(text) is None


def test_a_rule_set_without_a_chain_for_incoming_packets_has_no_verdict():
    assert nft_verdict('{"nftables": [{"metainfo": {}}]}') is None


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ("-P INPUT ACCEPT", PASSES),
        ("-P INPUT DROP", DROPPED),
        ("-P INPUT DROP\n-A INPUT -p udp -m udp --dport 4791 -j ACCEPT", PASSES),
        ("-P INPUT ACCEPT\n-A INPUT -p udp -m udp --dport 4791 -j REJECT --reject-with x", DROPPED),
        ("-P INPUT ACCEPT\n-A INPUT -p udp -m multiport --dports 53,4000:5000 -j DROP", DROPPED),
        ("-P INPUT ACCEPT\n-A INPUT -p udp -m multiport --dports 53,67:68 -j DROP", PASSES),
        ("-P INPUT ACCEPT\n-A INPUT -p tcp -j DROP", PASSES),
        ("-P INPUT ACCEPT\n-A INPUT -s 10.0.0.0/8 -j DROP", MAYBE),
        ("-P INPUT DROP\n-A INPUT -i lo -j ACCEPT", MAYBE),
        ("-P INPUT ACCEPT\n-A INPUT -j ufw-input", MAYBE),
        ("-P INPUT ACCEPT\n-A INPUT -p udp --dport", PASSES),
    ],
)
def test_iptables(rules, answer):
    verdict = iptables_verdict(rules)
    assert verdict is not None and verdict.answer is answer, verdict


def test_what_iptables_does_not_print_has_no_verdict():
    assert iptables_verdict("iptables: Permission denied") is None


@pytest.mark.parametrize(
    ("commands", "modules", "level", "seen"),
    [
        (
            {"nft": nft(policy="drop"), "iptables": "-P INPUT ACCEPT"},
            "x",
            Level.STOPS,
            "policy of nft chain inet filter input",
        ),
        ({"nft": nft(), "iptables": "-P INPUT DROP"}, "x", Level.STOPS, "iptables chain INPUT"),
        ({"nft": nft([state(), DROP])}, "x", Level.WARNING, "may be dropped"),
        ({}, "rdma_rxe 1", Level.OK, "no packet filter"),
        ({}, "nf_tables 1 2", Level.UNKNOWN, "cannot be read"),
        ({}, "", Level.UNKNOWN, "cannot be read"),
    ],
)
def test_the_check(tmp_path, commands, modules, level, seen):
    made = MadeUp(tmp_path)
    made.commands = commands
    made.write("proc/modules", modules)
    found = made.findings()["firewall"]
    assert (found.level, seen in found.seen) == (level, True), found
    assert bool(found.mend) == (level is not Level.OK)

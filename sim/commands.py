"""Command line of the simulation: ``python -m sim --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sim.scenario.load import ScenarioError, load, names

EXIT_BAD_INPUT = 2

application = typer.Typer(
    add_completion=False, no_args_is_help=True, help="EchoBench: the front end's RTL against a real verbs stack."
)


@application.command()
def run(
    scenario: Annotated[str, typer.Argument(help="name of a scenario in sim/scenarios, or path of a .toml file")] = (
        "default"
    ),
    simulator: Annotated[str | None, typer.Option(help="verilator or icarus, instead of the scenario's")] = None,
    seed: Annotated[int | None, typer.Option(help="seed, instead of the scenario's")] = None,
    peer: Annotated[str | None, typer.Option(help="auto, vm, host or model, instead of the scenario's")] = None,
    waves: Annotated[
        bool | None,
        typer.Option(
            "--waves/--no-waves",
            help="a waveform (FST) of the whole run, or never; else of a failure, by repeating the run",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="folder of the run, instead of build/runs/<scenario>")] = None,
) -> None:
    """Run a scenario; exit 0 if it passes, 1 if it fails, 2 if it cannot be run."""
    overrides: dict[str, Any] = {}
    if simulator is not None:
        overrides["simulator"] = simulator
    if seed is not None:
        overrides["seed"] = seed
    if peer is not None:
        overrides["link"] = {"peer": peer}
    try:
        wanted = load(scenario, overrides)
    except ScenarioError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from error
    from sim.run.runner import Options, run_scenario  # noqa: PLC0415 - a refused scenario should not pay for numpy

    raise typer.Exit(run_scenario(wanted, Options(waves=waves, directory=output)))


@application.command()
def scenarios() -> None:
    """List the scenarios that come with the project."""
    for name in names():
        typer.echo(name)


@application.command()
def lint() -> None:
    """Run every static check."""
    from sim.lint import main  # noqa: PLC0415

    raise typer.Exit(main())


@application.command()
def bench() -> None:
    """Measure the RDMA engine in simulated time, then the testbench's speed in wall time."""
    from sim.run.benchmark import main  # noqa: PLC0415
    from sim.run.engine_figures import main as engine  # noqa: PLC0415

    missed = engine()
    raise typer.Exit(main() or missed)


@application.command()
def programs(
    names: Annotated[list[str] | None, typer.Argument(help="programs to run; all without any")] = None,
    peer: Annotated[str, typer.Option(help="auto, vm or host")] = "auto",
    seed: Annotated[int, typer.Option(help="of data and PSNs")] = 1,
) -> None:
    """Run unmodified RDMA programs (perftest, pingpong) as peers of the engine."""
    from sim.programs.run import main  # noqa: PLC0415

    raise typer.Exit(main(names or [], peer, seed))


@application.command()
def synth() -> None:
    """Synthesise for UltraScale+ with yosys: area a subsystem, longest paths."""
    from sim.synthesis.report import main  # noqa: PLC0415

    raise typer.Exit(main())

"""The commands about studies, put together."""

from __future__ import annotations

import typer

from choicebo.cli import doctor, example, new, pick, report, status, transfer, upgrade


def add_to(app: typer.Typer) -> None:
    """Add the commands to the app of the command line."""
    app.command("new")(new.new)
    app.command("example")(example.example)
    app.command("pick")(pick.pick)
    app.command("status")(status.status)
    app.command("report")(report.report)
    app.command("export")(transfer.export)
    app.command("import")(transfer.import_)
    app.command("upgrade")(upgrade.upgrade)
    app.command("doctor")(doctor.doctor)

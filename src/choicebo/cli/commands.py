"""The commands about studies, put together."""

from __future__ import annotations

import typer

from choicebo.cli import (
    backup,
    doctor,
    example,
    export_import,
    history,
    manage,
    measure,
    new,
    objective,
    pick,
    predict,
    report,
    status,
    upgrade,
)


def add_to(app: typer.Typer) -> None:
    """Add the commands to the app of the command line."""
    app.command("new")(new.new)
    app.command("example")(example.example)
    app.command("pick")(pick.pick)
    app.command("status")(status.status)
    app.command("predict")(predict.predict)
    app.command("objective")(objective.objective)
    app.command("measure")(measure.measure)
    app.command("report")(report.report)
    app.command("history")(history.history)
    app.command("retract")(history.retract)
    app.command("restore")(history.restore)
    app.command("raters")(manage.raters)
    app.command("edit")(manage.edit)
    app.command("rename")(manage.rename)
    app.command("duplicate")(manage.duplicate)
    app.command("archive")(manage.archive)
    app.command("delete")(manage.delete)
    app.command("export")(export_import.export)
    app.command("import")(export_import.import_)
    app.command("backup")(backup.backup)
    app.command("recover")(backup.recover)
    app.command("upgrade")(upgrade.upgrade)
    app.command("doctor")(doctor.doctor)

"""A tool server with a ledger: each entry is one line of a file, and each call that writes one can be counted there.

    ledger.py FILE           over standard input and output
    ledger.py FILE PORT      over streamable HTTP on loopback; prints the port when it listens
"""

import os
import sys
from pathlib import Path

from fastmcp import FastMCP

ledger = Path(sys.argv[1])
server = FastMCP("ledger", version="1", instructions="Entries stay for ever.")


def lines():
    return ledger.read_text().splitlines() if ledger.exists() else []


def enter(text, key=""):
    with ledger.open("a") as file:
        file.write(f"{key}\t{text}\n")
        file.flush()
        os.fsync(file.fileno())
    return f"entered: {text}"


@server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
def read_ledger() -> str:
    """All entries."""
    return "\n".join(line.split("\t", 1)[1] for line in lines())


@server.tool()
def enter_once(text: str) -> str:
    """Enters a text; twice where it is called twice."""
    return enter(text)


@server.tool()
def enter_keyed(text: str, key: str) -> str:
    """Enters a text; once for each key."""
    if any(line.split("\t", 1)[0] == key for line in lines()):
        return f"entered: {text}"
    return enter(text, key)


@server.tool()
def enter_checked(text: str) -> str:
    """Enters a text; `is_entered` tells whether it is there."""
    return enter(text)


@server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
def is_entered(text: str) -> dict:
    """Whether a text was entered."""
    return {"happened": any(line.split("\t", 1)[1] == text for line in lines())}


if len(sys.argv) > 2:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
else:
    server.run(show_banner=False)

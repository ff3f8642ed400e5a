"""Runs cells of Python one after the other and keeps what they define.

Requests come on descriptor 0 and replies go to descriptor 1, each a JSON object on a line of its own. Both are moved
away before the first cell, whose own standard input is empty and whose output goes to descriptor 2. A reply carries
the nonce of its request, so nothing that a cell writes to the descriptor of the replies stands for another reply.
"""
import ast
import builtins
import importlib.util
import json
import keyword
import linecache
import os
import queue
import signal
import sys
import threading
import traceback
import types
import warnings

MAX_VALUE, MAX_ERROR, MAX_FILES, MAX_PROCESSES = 2048, 16384, 8, 5
MAX_ROWS, MAX_COLUMNS = 20, 12
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}

OWN, HOME, DRIVER = os.getpid(), os.getcwd(), sys.modules["__main__"]
requests = os.fdopen(os.dup(0), "rb")
replies, output = os.dup(1), os.dup(2)
os.dup2(os.open(os.devnull, os.O_RDWR), 0)
os.dup2(2, 1)
main = types.ModuleType("__main__")
main.__builtins__ = builtins
sys.modules["__main__"] = main
# Behind everything that is installed: a file of the workspace stands for none of it.
sys.path.append(HOME)
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(errors="backslashreplace")
warnings.filterwarnings("ignore", message=".*cannot (be shown|show the figure)")
running = None
waiting = queue.SimpleQueue()
files, left_out, directory = [], 0, None


def reply(nonce, **fields):
    """Writes one reply. The line break before it ends whatever a cell left there."""
    words = memoryview(("\n" + json.dumps({"nonce": nonce, **fields}) + "\n").encode())
    while words:
        words = words[os.write(replies, words):]


def read_requests():
    """Hands requests to the main thread, and interrupts it in a cell."""
    try:
        for line in requests:
            request = json.loads(line)
            if "interrupt" not in request:
                waiting.put(request)
            elif request["interrupt"] == running:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    finally:
        waiting.put(None)


def interrupted(*_):
    if running is not None:
        raise KeyboardInterrupt


def limit_processes(event, _):
    if event in STARTS and os.getppid() == 1 and others() >= MAX_PROCESSES:
        raise RuntimeError(f"a cell can have {MAX_PROCESSES} processes beside its own at a time: wait for one to end")


def others():
    """How many other processes live in this sandbox. Process 1 belongs to the sandbox."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, OWN):
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    count += stat.read().rpartition(b") ")[2][:1] not in b"ZX"
            except OSError:
                pass
    return count


def new_file(name):
    """The path of the next file of this cell; none when it has enough."""
    global left_out
    if len(files) >= MAX_FILES:
        left_out += 1
        return None
    os.makedirs(directory, exist_ok=True)
    stem, dot, ending = name.rpartition(".")
    files.append(f"{stem}-{1 + sum(file.endswith(dot + ending) for file in files)}.{ending}")
    return os.path.join(directory, files[-1])


def save_figures(*_, **__):
    """Every open figure becomes a picture, and is closed."""
    plots = sys.modules.get("matplotlib.pyplot")
    for number in plots.get_fignums() if plots else ():
        save_figure(plots.figure(number))
        plots.close(number)


def save_figure(figure):
    if path := new_file("figure.png"):
        figure.savefig(path)


class PlotFinder:
    """Lets `show` of matplotlib save figures; there is no screen."""

    @staticmethod
    def find_spec(name, _path, _target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(PlotFinder)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.show = save_figures

        spec.loader.exec_module = exec_module
        return spec


def is_a(value, module, name):
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def show(value):
    """A value in words. A picture or a table becomes a file as well."""
    if is_a(value, "matplotlib.figure", "Figure"):
        plots = sys.modules.get("matplotlib.pyplot")
        # An open one is saved with the others.
        if plots is None or value.number not in plots.get_fignums():
            save_figure(value)
        return None
    if is_a(value, "PIL.Image", "Image"):
        if path := new_file("picture.png"):
            value.save(path, "PNG")
        return f"picture of {value.size[0]}x{value.size[1]}"
    if is_a(value, "pandas", "DataFrame"):
        if path := new_file("table.csv"):
            value.to_csv(path, index=not is_a(value.index, "pandas", "RangeIndex"))
        return value.to_string(max_rows=MAX_ROWS, max_cols=MAX_COLUMNS, show_dimensions=True, max_colwidth=60)
    if is_a(value, "pyarrow", "Table"):
        if path := new_file("table.csv"):
            import pyarrow.csv
            pyarrow.csv.write_csv(value, path)
        return arrow_lines(value)
    words = repr(value)
    return words if len(words) <= MAX_VALUE else f"{words[:MAX_VALUE]}… ({len(words)} characters)"


def arrow_lines(table):
    names = table.column_names[:MAX_COLUMNS]
    columns = [table.column(index)[:MAX_ROWS].to_pylist() for index in range(len(names))]
    lines = [" | ".join(str(cell)[:60] for cell in row) for row in [names, *zip(*columns)]]
    return "\n".join([*lines, f"[{table.num_rows} rows x {table.num_columns} columns]"])


def error_lines(error):
    """The error with the frames of cells and of files of the workspace, and no others."""
    seen, found = set(), traceback.TracebackException.from_exception(error, limit=-1000)
    open_errors = [found]
    while open_errors:
        one = open_errors.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        own = [frame for frame in one.stack if frame.filename.startswith(("<cell ", HOME + os.sep))]
        one.stack = traceback.StackSummary.from_list(own)
        open_errors += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    words = "".join(found.format()).rstrip()
    return words if len(words) <= MAX_ERROR else f"{words[:MAX_ERROR // 2]}\n…\n{words[-MAX_ERROR // 2:]}"


def execute(code, name):
    """Runs a cell and gives the value of its last expression in words."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    tree = compile(code, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    ends_with_value = bool(tree.body) and isinstance(tree.body[-1], ast.Expr)
    last = ast.Expression(tree.body.pop().value) if ends_with_value else None
    exec(compile(tree, name, "exec", dont_inherit=True), main.__dict__)
    value = eval(compile(last, name, "eval", dont_inherit=True), main.__dict__) if last else None
    words = None if value is None else show(value)
    save_figures()
    return words


def assign(name, path):
    """Gives a variable the rows of a Parquet or CSV file."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__") or hasattr(builtins, name):
        raise ValueError(f"{name!r} cannot be the name of a variable")
    parquet = path.endswith(".parquet")
    pandas, arrow = (importlib.util.find_spec(module) for module in ("pandas", "pyarrow"))
    if pandas and (arrow or not parquet):
        import pandas
        value = pandas.read_parquet(path) if parquet else pandas.read_csv(path)
        shape = f"a pandas DataFrame of {len(value)} rows and {len(value.columns)} columns"
    elif arrow:
        import pyarrow.csv
        import pyarrow.parquet
        value = pyarrow.parquet.read_table(path) if parquet else pyarrow.csv.read_csv(path)
        shape = f"a pyarrow Table of {value.num_rows} rows and {value.num_columns} columns"
    elif parquet:
        raise ValueError("a Parquet file needs pyarrow, which this Python does not have")
    else:
        import csv
        with open(path, newline="", encoding="utf-8-sig") as file:
            value = list(csv.DictReader(file))
        shape = f"a list of {len(value)} dictionaries"
    setattr(main, name, value)
    return f"`{name}` is {shape}"


def run(request):
    """What to reply to a request. Nothing that a cell raises ends the interpreter."""
    global running, files, left_out, directory
    files, left_out, directory = [], 0, os.path.join(HOME, request["directory"])
    value = error = None
    signal.signal(signal.SIGINT, interrupted)
    sys.stdin = open(os.devnull)
    try:
        running = request["nonce"]
        if "assign" in request:
            value = assign(*request["assign"])
        else:
            value = execute(request["code"], request["name"])
        running = None
    except BaseException as raised:
        running = None
        if isinstance(raised, SystemExit) and raised.code in (None, 0):
            value = "SystemExit: the cell ended itself; the interpreter goes on"
        else:
            try:
                error = error_lines(raised)
            except BaseException as another:
                error = f"{type(raised).__name__} ({type(another).__name__} while it was described)"
        del raised
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    if os.getpid() != OWN:
        # A copy that a cell made of this process: it has run the cell to its end, and answers nobody.
        os._exit(0)
    try:
        os.write(output, f"\0{request['nonce']}\0".encode())
    except OSError:
        pass
    return {"value": value and value[:MAX_ERROR], "error": error, "files": files, "left_out": left_out}


def serve():
    signal.signal(signal.SIGINT, interrupted)
    sys.addaudithook(limit_processes)
    sys.meta_path.insert(0, PlotFinder)
    threading.Thread(target=read_requests, daemon=True).start()
    reply("ready")
    while (request := waiting.get()) is not None:
        try:
            answer = run(request)
        except BaseException as raised:
            # An interrupt between the end of a cell and its reply.
            answer = {"value": None, "error": type(raised).__name__, "files": files, "left_out": left_out}
        reply(request["nonce"], **answer)


serve()

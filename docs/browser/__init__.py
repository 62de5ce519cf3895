"""The page "Bytes in the browser", a folder that any server of files can host: `make browser` writes `build/browser`.

The page runs kipwire's own commands: CPython as WebAssembly (pyodide), in a Web Worker. `downloads` gets what is not
ours, each file known by its hash; `packing` makes the archives; `compiling` compiles what a first result imports;
`looking` is the Python that runs there, and chooses the command; `page/` has the HTML and the JavaScript. `rpds` and
`watchfiles` stand in for libraries that have no build for WebAssembly.

Nothing leaves the browser: the policy in `page/index.html` forbids other hosts, for the worker too, since the worker is
made from a blob and so gets the policy of its page. A result is the page that `--html` writes, in a frame without
rights.
"""

# scripts/test_tidy.py - the checks have tests of their own: each rule is seen to fail and to pass.
import layers
import tidy


def wrong(path: str, body: str) -> list[str]:
    text = f"// {path.removeprefix('src/')} - a file.\n{body}"
    return [what for _, what in tidy.check_text(path, text)]


def test_a_clean_file_passes():
    assert wrong("src/base/thing.cpp", "int f() {\n    return 1;\n}\n") == []


def test_the_first_line_says_what_the_file_is_for():
    assert tidy.check_text("src/base/a.cpp", "int x;\n")[0][1].startswith("line 1 must be")


def test_words_are_banned_by_folder():
    assert wrong("src/decide/a.cpp", "#include <unordered_map>\n")
    assert not wrong("src/control/a.cpp", "#include <unordered_map>\n")
    assert wrong("src/decide/a.cpp", "double share = 0;\n")
    assert not wrong("src/decide/a.cpp", "// a double take\n")
    assert wrong("src/api/a.cpp", "#include <openssl/evp.h>\n")
    assert wrong("src/net/a.cpp", "} catch (...) {\n")


def test_the_coroutine_traps_are_seen():
    assert wrong("src/net/a.cpp", "co_await take(Options{1, 2});\n")
    assert wrong("src/net/a.cpp", "co_await run([x](int y) { return x + y; });\n")
    assert not wrong("src/net/a.cpp", "co_await take(std::move(options));\n")


def test_long_functions_files_and_lines_are_told():
    body = "int f() {\n" + "    g();\n" * 70 + "}\n"
    assert any("a function of 72 lines" in w for w in wrong("src/base/a.cpp", body))
    assert any("501 lines" in w or "502 lines" in w for w in wrong("src/base/a.cpp", "int x;\n" * 501))
    assert any("columns" in w for w in wrong("src/base/a.cpp", "int " + "x" * 100 + ";\n"))


def test_an_open_task_names_its_issue():
    task = "TO" + "DO"
    assert wrong("src/base/a.cpp", f"// {task}: later\n")
    assert not wrong("src/base/a.cpp", f"// {task}(#12): later\n")


def test_a_header_that_nothing_includes_is_told():
    files = {"src/base/a.h": "", "src/base/b.h": "", "src/base/b.cpp": '#include "base/b.h"\n'}
    assert tidy.unused_headers(files) == ["src/base/a.h"]


def test_includes_follow_the_table():
    allowed = layers.allowed_folders("muster_library(base)\nmuster_library(api DEPS base SYSTEM yaml)\n"
                                     "muster_library(kube DEPS api)\n")
    assert allowed["kube"] == {"kube", "api", "base"}
    assert layers.wrong_includes("api", '#include "kube/x.h"\n#include "base/y.h"\n', allowed) == [(1, "kube")]

"""Models for PHP, Go, Ruby and Java are generated from the reference, and read by the tools of these languages."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

import openapi_generator_cli
import pytest

from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("generated-models")]
GENERATOR = Path(openapi_generator_cli.__file__).parent / "openapi-generator.jar"
FEWEST = 250
"""So many models there are at least."""
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For a JVM that lives for seconds: to optimize what it runs takes longer than it saves."""
QUIET = "modelDocs=false,modelTests=false"
ANNOTATIONS = ("Generated", "Nonnull", "Nullable")
"""The annotations of Java are in a package of their own; these say the same."""
ANNOTATION = """package jakarta.annotation;
public @interface {name} {{ String[] value() default {{}}; String date() default ""; String comments() default ""; }}
"""


class Language(NamedTuple):
    """What is generated with which options, and which tool reads a file of it."""

    suffix: str
    tool: tuple[str, ...]
    options: tuple[str, ...] = ("--global-property", f"models,{QUIET}")


LANGUAGES = {
    "php": Language(".php", ("php", "-l")),
    "go": Language(".go", ("gofmt", "-e", "-l")),
    "ruby": Language(".rb", ("ruby", "-c")),
    "java": Language(
        ".java",
        ("javac", "-proc:none", "-nowarn", "-implicit:none"),
        (
            "--library=native",
            "--global-property",
            f"models,supportingFiles,{QUIET}",
            "--additional-properties=openApiNullable=false,useJakartaEe=true,hideGenerationTimestamp=true,annotationLibrary=none",
        ),
    ),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_models_are_generated_and_can_be_read(name: str, tmp_path: Path, skip_aloud: Callable[[str], NoReturn]) -> None:
    if shutil.which("java") is None:
        skip_aloud(f"NOT TESTED: models for {name}, because there is no java")
    language, document, made = LANGUAGES[name], tmp_path / "openapi.json", tmp_path / "made"
    document.write_bytes(reference.encoded(config.load({})))
    generate = ["generate", "-g", name, "-i", str(document), "-o", str(made), *language.options]
    done = _run(["java", "-jar", str(GENERATOR), *generate])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    files = sorted(made.rglob(f"*{language.suffix}"))
    assert len(files) >= FEWEST
    if shutil.which(language.tool[0]) is None:
        skip_aloud(f"NOT READ: generated models for {name}, because there is no {language.tool[0]}")
    if name == "java":
        _compile(language, [path for path in files if "test" not in path.parts], tmp_path)
        return
    for path in files:
        read = _run([*language.tool, str(path)])
        assert read.returncode == 0, read.stdout + read.stderr


def _compile(language: Language, files: list[Path], folder: Path) -> None:
    """The libraries that the models need are in the generator."""
    for annotation in ANNOTATIONS:
        path = folder / f"{annotation}.java"
        path.write_text(ANNOTATION.format(name=annotation))
        files = [*files, path]
    compiled = _run([*language.tool, "-d", str(folder / "classes"), "-cp", str(GENERATOR), *map(str, files)])
    assert compiled.returncode == 0, compiled.stderr[-3000:]


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=os.environ | SHORT_LIVED, capture_output=True, text=True, check=False)

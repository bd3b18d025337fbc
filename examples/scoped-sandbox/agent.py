"""A scripted agent: asks for the model's facts and an embedding, and checks that the
embeddings mean something. It knows the model only through `model_tools`."""

import sys
from pathlib import Path

import helpers
import model_tools

# Each sentence, one that means much the same, and one that does not.
TRIPLES = [
    (
        "A cat sleeps on the sofa.",
        "A kitten is napping on the couch.",
        "The central bank raised interest rates.",
    ),
    (
        "How do I install this program?",
        "Instructions for setting up the software",
        "The soup needs a little more salt.",
    ),
    (
        "The train was late because of the snow.",
        "Heavy snowfall delayed the railway.",
        "She plays the violin in an orchestra.",
    ),
]


def main() -> int:
    info = model_tools.get_model_info()
    print(
        f"The model has {info['num_layers']} layers and {info['vocab_size']:,} tokens."
    )

    vector = model_tools.get_embedding("hello world")  # a tensor, or an array without torch
    print(f"“hello world” is a vector of {len(vector)} numbers.")

    print("Do similar sentences lie close together?")
    rows = [compare(*triple) for triple in TRIPLES]
    passed = all(near > far for _, near, far in rows)

    report = Path("outputs/report.md")
    report.parent.mkdir(exist_ok=True)
    report.write_text(write_report(info, vector, rows, passed), encoding="utf-8")
    print(f"{'Yes.' if passed else 'No!'} Wrote {report}.")
    return 0 if passed else 1


def compare(sentence: str, like: str, unlike: str):
    """Returns the sentence and its similarity to the other two."""
    vector, near, far = (
        model_tools.get_embedding(text) for text in (sentence, like, unlike)
    )
    row = sentence, helpers.similarity(vector, near), helpers.similarity(vector, far)
    print(f"  {row[1]:5.2f}  {sentence} / {like}")
    print(f"  {row[2]:5.2f}  {sentence} / {unlike}")
    return row


def write_report(info, vector, rows, passed: bool) -> str:
    table = "\n".join(
        f"| {sentence} | {near:.2f} | {far:.2f} |" for sentence, near, far in rows
    )
    return f"""# A model behind two functions

{helpers.format_result(info, "Model")}

{helpers.format_result({"embedding": vector}, "Embedding of “hello world”")}

## Do the embeddings mean something?

Cosine similarity of a sentence to one that says much the same, and to one that does not.

| sentence | like it | unlike it |
|---|---:|---:|
{table}

{"Yes: every sentence is closer to the one like it." if passed else "No: see the table."}
"""


if __name__ == "__main__":
    sys.exit(main())

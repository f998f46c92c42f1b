"""Ten questions about a country that does not exist, so that no model knows the answers by heart.

After FictionalHot (arXiv 2510.00568), which swaps real entities for invented ones; every name here was made up for
groundwire. Four questions take two searches.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PASSAGES", "QUESTIONS", "Question"]


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        text: what is asked.
        answer: the right answer, word for word as a passage has it.
        hops: passages that have to be read.
    """

    text: str
    answer: str
    hops: int = 1


QUESTIONS = (
    Question("In which year was the Velmar lighthouse built?", "1873"),
    Question("Who composed the opera The Glass Orchard?", "Ilsa Torrend"),
    Question("What is the capital of Quessaly?", "Dornwick"),
    Question("Which metal is mined at Harrowfell?", "osmiridium"),
    Question("How many strings does a tarrow have?", "eleven"),
    Question("Who founded the Brackwater Observatory?", "Odo Fennimar"),
    Question("Which river flows through the capital of Quessaly?", "the Ilme", hops=2),
    Question("In which town was the composer of The Glass Orchard born?", "Pellingate", hops=2),
    Question("Which comet was found by the founder of the Brackwater Observatory?", "Comet Asterby", hops=2),
    Question("Which bridge leads to the Velmar lighthouse?", "the Salt Bridge", hops=2),
)

PASSAGES = (
    "The Velmar lighthouse stands on Gull Rock and was built in 1873 by the harbour guild.",
    "Gull Rock, the site of the Velmar lighthouse, is reached over the Salt Bridge at low tide.",
    "The Corrin lighthouse burned down and was never built again.",
    "Velmar is a harbour known for its dried plums and its rain.",
    "The Glass Orchard is an opera in three acts, composed by Ilsa Torrend.",
    "Ilsa Torrend was born in Pellingate, the daughter of a bell founder.",
    "The Glass Harbour is a novel by Mott Arven about a drowned town.",
    "Pellingate has a market every ninth day.",
    "Quessaly is an island state; its capital is Dornwick.",
    "Dornwick, the capital of Quessaly, lies where the Ilme flows into the sea.",
    "The people of Quessaly count their years from the Long Winter.",
    "The Senn flows through Pellingate and Harrowfell.",
    "At Harrowfell osmiridium is mined, a metal used for the nibs of pens.",
    "Harrowfell lost half of its houses in the landslide.",
    "Tin is a metal that was mined at Corrin until the mine was flooded.",
    "A tarrow is a lute of Quessaly with eleven strings and no frets.",
    "The strings of a fiddle from Corrin are made of goat gut.",
    "The Brackwater Observatory was founded by Odo Fennimar on the hill above the marsh.",
    "Odo Fennimar found Comet Asterby with a telescope of his own making.",
    "Brackwater is a marsh; eels are caught there in spring.",
    "Comet Lume was found by a shepherd whose name nobody wrote down.",
    "The harbour guild of Velmar owns four ships and a bell.",
)

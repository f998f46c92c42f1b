"""Looks a dotted name up: first as a whole, then by what the classes of LangChain and its like are called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from groundwire.auditing.knowledge.libraries import BY_METHOD, LIBRARIES

__all__ = ["UNKNOWN", "Known", "class_name", "describe", "is_model_name"]


@dataclass(frozen=True, slots=True)
class Known:
    """What a call does.

    Args:
        kind: world, human, form, check, pure, inert, chance, fixed, model, parser, handoff, agent or unknown.
        detail: of world: exec, search, http, sql, file, env or tool.
    """

    kind: str
    detail: str = ""


UNKNOWN = Known("unknown")
FAMILIES = re.compile(r"^(langchain|langgraph|llama_index|haystack|semantic_kernel)([_.]|$)")

# How classes and functions of one family are called; the first that fits counts. A word alone stands for a part of
# the name; `^` and `$` stand for its ends.
CLASSES: tuple[tuple[Known, str], ...] = (
    (Known("handoff"), "create_handoff_tool create_forward_message_tool"),
    (Known("pure"), "Embeddings?$ HuggingFaceEmbedding"),
    (Known("parser"), "OutputParser$ Parser$"),
    (Known("human"), "^HumanInput ^HumanApproval"),
    (
        Known("model"),
        r"""
        (^|[a-z])Chat(?!Prompt|Message|History|Result|Generation|Bot)([A-Z]|$) ^init_chat_model LLM$ ^(Azure)?OpenAI$
        ^Anthropic$ ^Ollama$ ^LlamaCpp$ ^VertexAI$ ^Bedrock$ ^Cohere$ ^GPT4All$ ^HuggingFace(Pipeline|Endpoint|Hub)$
        ^CTransformers$ ^Replicate$ ^Together$ ^Fireworks$ ^GoogleGenerativeAI$ ^GooglePalm$ Chain$
        ^load_(chain|summarize_chain|qa_chain) ^Fake\w*(Model|LLM)$ ^Generic\w*ChatModel$
        """,
    ),
    (
        Known("world", "exec"),
        "REPL ^Shell ^Bash CodeInterpreter E2B ^Riza ^Sandbox PyodideSandbox AzureDynamicSessions ^Terminal",
    ),
    (Known("world", "sql"), r"SQL ^Spark BigQuery ^Cypher Neo4j\w*Chain"),
    (
        Known("world", "search"),
        r"""
        [Rr]etriev VectorStore ^VectorDB as_retriever similarity_search QueryEngine Index$ ^Chroma$ ^FAISS$ ^Qdrant$
        ^Pinecone$ ^Weaviate$ ^Milvus$ ^PGVector$ ^Redis$ ^LanceDB$ ^DocArray ^SKLearn ^ElasticsearchStore$ ^OpenSearch
        ^AstraDB ^MongoDBAtlas ^Annoy$ ^Vectara$ ^BM25 ^TFIDF
        """,
    ),
    (
        Known("world", "search"),
        r"""
        Search ^Tavily ^DuckDuckGo ^Wiki ^Arxiv ^Pub[Mm]ed ^Brave ^Serp ^Bing ^Exa ^Wolfram ^SemanticScholar ^You ^Jina
        ^Google(Search|Serper|Scholar|Trends|Finance|Jobs|Places|Lens) ^Searx ^StackExchange ^AskNews ^Metaphor
        ^Outline ^Merriam ^Dataherald ^Golden ^Linkup
        """,
    ),
    (
        Known("world", "http"),
        r"""
        ^Requests Browser Playwright Loader$ ^OpenWeather ^YahooFinance ^Polygon ^AlphaVantage ^Gmail ^O(ffice)?365
        ^Slack ^Git[Hh]ub ^GitLab ^Jira ^Zapier ^Twilio ^OpenAPI ^Graph[Qq][Ll] ^NASA ^Steam ^Clickup ^IFTTT ^AINetwork
        ^Amadeus ^Calendar ^Nuclia ^Financial ^StripeAgent Wrapper$ Toolkit$ ^WebScraper ^FireCrawl ^Hyperbrowser ^Apify
        """,
    ),
    (
        Known("world", "file"),
        "^(ReadFile|WriteFile|ListDirectory|FileSearch|CopyFile|MoveFile|DeleteFile|FileManagement) FileSystem",
    ),
    (
        Known("pure"),
        """
        Prompt Messages?$ ^Message Document$ Splitter ^Runnable History Memory Saver Store$ Cache Callback Tracer
        ^Base[A-Z] Config$ Schema$ ^hub$ Transformers?$ Compressor Rerank(er)?$ Selector$ Example
        """,
    ),
)
CLASS_PATTERNS = tuple((re.compile("|".join(words.split())), known) for known, words in CLASSES)
MODEL_NAME = re.compile(r"(?i)(^|_)(llms?|chat_?models?|language_?models?|lm|gpt4?o?|claude|gemini|model)(_|\d|$)")


def class_name(path: str) -> str:
    """The first part of a dotted name that is called like a class, else its last part."""
    parts = path.replace("()", "").split(".")
    return next((p for p in parts if p[:1].isupper()), parts[-1])


def is_model_name(name: str) -> bool:
    """True if a variable is called as models are. Only ever one hint of two."""
    return bool(MODEL_NAME.search(name))


@lru_cache(maxsize=4096)
def describe(path: str) -> Known:
    """What a call of `path` does.

    Args:
        path: dotted, with or without `()` where something was called on the way: `requests.get().json`.
    """
    parts = path.replace("()", "").split(".")
    special = BY_METHOD.get((parts[0], parts[-1]))
    if special is not None:
        return Known(*special)
    if parts[0] == "tools" and len(parts) > 1:
        return UNKNOWN
    named: tuple[str, str] | None = None
    depth = 0
    for size in range(len(parts), 0, -1):
        named = LIBRARIES.get(".".join(parts[:size]))
        if named is not None:
            depth = size
            break
    if FAMILIES.match(parts[0]) and (named is None or depth < 3):
        known = _by_class(parts)
        if known is not None:
            return known
    return Known(*named) if named is not None else UNKNOWN


def _by_class(parts: list[str]) -> Known | None:
    last_first = [p for p in parts[1:] if p[:1].isupper()] or parts[-1:]
    method = parts[-1]
    for name in (last_first[0], method):
        for pattern, known in CLASS_PATTERNS:
            if pattern.search(name):
                return known
    return None

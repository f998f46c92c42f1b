"""What a call of a dotted name does, as far as libraries are known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# Dotted names, and what a call of anything below them does. The longest name that fits counts.

EXEC = """
subprocess os.system os.popen os.spawnl os.execv os.posix_spawn builtins.exec builtins.eval builtins.execfile runpy
code.InteractiveInterpreter pty.spawn pexpect asyncio.create_subprocess_exec asyncio.create_subprocess_shell
asyncio.subprocess sh.Command plumbum invoke.run fabric paramiko docker podman kubernetes e2b e2b_code_interpreter
daytona daytona_sdk modal runloop_api_client codeboxapi riza pytest.main unittest.main unittest.TextTestRunner
unittest.TextTestRunner.run unittest.TestLoader doctest.testmod doctest.run_docstring_examples doctest.DocTestRunner
mypy.api pylint flake8 ruff pyflakes.api pycodestyle bandit black isort coverage z3 pysat ortools pulp cvxpy
scipy.optimize sympy.solve sympy.solvers sympy.simplify jupyter_client nbclient nbformat.execute papermill
IPython.get_ipython IPython.core.interactiveshell importlib.import_module importlib.util ctypes llm_sandbox
smolagents.local_python_executor smolagents.PythonInterpreterTool RestrictedPython pyodide tree_sitter_cli
langchain_sandbox
langchain_experimental.utilities openevals.code javascript execjs py_mini_racer quickjs dotnet matlab.engine oct2py
lean_dojo
lean_interact clingo minizinc chess.engine stockfish terraform ansible_runner git.Repo dbt.cli pulumi vllm_sandbox
swerex minisweagent.environments agents.CodeInterpreterTool agents.LocalShellTool agents.ShellTool
agents.ApplyPatchTool
agents.extensions.experimental.codex agents.sandbox
pydantic_ai.CodeExecutionTool crewai_tools.CodeInterpreterTool autogen_ext.code_executors autogen.coding
"""
ENV = """
gym gymnasium pettingzoo alfworld textworld scienceworld webshop minigrid nle dm_control pybullet mujoco procgen
crafter jericho browsergym appworld osworld minedojo pyautogui pynput retro robosuite carla airsim rclpy rospy RPi
serial pygame
"""
HTTP = """
requests httpx aiohttp urllib.request urllib3 http.client websocket websockets socket ftplib smtplib.SMTP.noop
imaplib poplib telnetlib xmlrpc.client selenium playwright pyppeteer splinter mechanize scrapy feedparser newspaper
trafilatura.fetch_url crawl4ai firecrawl browser_use stagehand steel googleapiclient gspread google.cloud
google.auth.transport github gitlab jira atlassian slack_sdk slack notion_client stripe twilio tweepy praw discord
telegram simple_salesforce hubspot zenpy shopify airtable O365 msgraph exchangelib boto3 botocore aiobotocore
azure.storage azure.identity azure.search azure.cosmos yfinance alpha_vantage polygon ccxt alpaca fredapi
openmeteo_requests pyowm geopy.geocoders googlemaps amadeus youtube_transcript_api pytube yt_dlp grpc zeep suds pika
kafka confluent_kafka nats paho celery composio arcade arcadepy langchain_arcade langgraph_sdk crewai_tools mcp fastmcp
langchain_mcp_adapters autogen_ext.tools smolagents.WebSearchTool smolagents.VisitWebpageTool
agents.WebSearchTool agents.HostedMCPTool agents.ComputerTool pydantic_ai.WebSearchTool pydantic_ai.WebFetchTool
pydantic_ai.UrlContextTool pydantic_ai.builtin_tools pydantic_ai.common_tools
"""
SEARCH = """
tavily duckduckgo_search ddgs exa_py serpapi googlesearch wikipedia wikipediaapi arxiv scholarly semanticscholar
habanero Bio.Entrez metapub linkup perplexity_search brave_search you_search jina chromadb pinecone qdrant_client
weaviate pymilvus lancedb elasticsearch opensearchpy faiss annoy hnswlib vespa marqo turbopuffer typesense
meilisearch whoosh agents.FileSearchTool rank_bm25 bm25s llama_index.core.indices llama_index.core.VectorStoreIndex
txtai ragatouille smolagents.DuckDuckGoSearchTool smolagents.GoogleSearchTool smolagents.WikipediaSearchTool langmem
colbert zep_cloud mem0 cognee graphiti_core neo4j py2neo rdflib SPARQLWrapper networkx_neo4j nltk.corpus.wordnet
"""
SQL = """
sqlite3 psycopg psycopg2 asyncpg aiosqlite pymysql mysql MySQLdb aiomysql cx_Oracle oracledb pyodbc pymssql
sqlalchemy sqlmodel databases duckdb clickhouse_connect clickhouse_driver snowflake redshift_connector trino
prestodb pyhive google.cloud.bigquery pymongo motor redis aioredis cassandra supabase peewee tortoise django.db
psycopg_pool asyncmy pyspark.sql pandas.read_sql pandas.read_sql_query pandas.read_sql_table
"""
FILE = """
os.listdir os.walk os.scandir os.stat os.path.exists os.path.isfile os.path.isdir os.path.getsize os.path.getmtime
glob shutil.which shutil.disk_usage pandas.read_csv pandas.read_excel pandas.read_json pandas.read_parquet
pandas.read_html polars.read_csv numpy.load numpy.loadtxt csv.reader csv.DictReader openpyxl pypdf
PyPDF2 pdfplumber pymupdf fitz docx pptx pytesseract easyocr PIL.Image.open cv2.imread cv2.VideoCapture psutil
watchdog gitingest deepagents.backends unstructured docling markitdown aiofiles fsspec zipfile tarfile soundfile
sounddevice
speech_recognition
"""
HUMAN = """
builtins.input langgraph.types.interrupt langgraph.errors.NodeInterrupt langgraph.prebuilt.interrupt getpass.getpass
click.prompt click.confirm typer.prompt typer.confirm rich.prompt questionary inquirer InquirerPy prompt_toolkit
streamlit.text_input streamlit.chat_input streamlit.button streamlit.radio chainlit.AskUserMessage
chainlit.AskActionMessage gradio.Textbox tkinter easygui humanlayer fileinput sys.stdin
"""
FORM = """
json.loads json.load json.JSONDecoder yaml.safe_load yaml.load yaml.full_load toml.loads tomllib.loads ast.parse
ast.literal_eval builtins.compile jsonschema fastjsonschema cerberus voluptuous marshmallow xmlschema
xml.etree.ElementTree.fromstring xml.dom.minidom.parseString lxml.etree re.match re.fullmatch re.compile.match
re.compile.fullmatch datetime.datetime.strptime datetime.datetime.fromisoformat datetime.date.fromisoformat
dateutil.parser.parse pydantic.TypeAdapter pydantic.validate_call pydantic.parse_obj_as sqlglot sqlparse sqlfluff
libcst.parse_module parso email_validator validators phonenumbers uuid.UUID ipaddress json_repair demjson3
json5 orjson.loads ujson.loads simplejson.loads langchain_core.utils.json guardrails lark pyparsing tree_sitter
builtins.isinstance csv.Sniffer html5lib graphql.parse cssutils
"""
CHECK = """
textstat language_tool_python spellchecker enchant textdistance rapidfuzz Levenshtein difflib.SequenceMatcher
rouge_score rouge sacrebleu nltk.translate evaluate.load sklearn.metrics jiwer bert_score langdetect langid
chess.Board numpy.allclose numpy.array_equal numpy.testing math.isclose networkx shapely rdkit unittest.TestCase
"""
PURE = """
builtins re math cmath datetime time typing typing_extensions collections itertools functools uuid textwrap string
statistics copy dataclasses enum pydantic pydantic_settings operator hashlib hmac base64 os sys pathlib traceback io
contextlib tempfile asyncio concurrent warnings decimal fractions inspect numpy pandas polars tiktoken
transformers.AutoTokenizer IPython tqdm dotenv yaml json toml tomllib bs4 markdown markdownify html html2text jinja2
difflib unicodedata urllib.parse secrets threading queue types abc shutil.get_terminal_size calendar zoneinfo pytz
dateutil locale gettext pprint heapq bisect array struct binascii codecs csv ast tokenize keyword numbers weakref
contextvars langchain_core langchain.prompts langchain.schema langchain.text_splitter langchain_text_splitters
langchain.output_parsers langchain.adapters langchain_community.adapters langchain.globals langchain.hub langchainhub
langgraph matplotlib seaborn plotly altair pydantic_graph crewai.flow crewai.project agents.trace agents.ItemHelpers
agents.RunConfig agents.ModelSettings pydantic_ai.RunContext pydantic_ai.usage pydantic_ai.messages workflows
llama_index.core.workflow
scipy sklearn sympy shutil multiprocessing signal gc platform argparse colorama termcolor rich.console rich.markdown
rich.panel rich.table rich.pretty rich.print humanize inflection slugify tabulate emoji ftfy more_itertools toolz
tenacity backoff retry cachetools diskcache attr attrs msgspec cattrs omegaconf hydra langsmith nest_asyncio pytest
litellm.token_counter litellm.encode litellm.decode litellm.completion_cost litellm.cost_per_token
litellm.get_max_tokens
autogen.config_list_from_json autogen.config_list_from_dotenv autogen.config_list_from_models autogen.get_config_list
autogen.filter_config autogen.LLMConfig autogen.runtime_logging autogen_agentchat autogen_core
semantic_kernel.agents.strategies semantic_kernel.agents.TerminationStrategy semantic_kernel.agents.SelectionStrategy
semantic_kernel.functions semantic_kernel.contents semantic_kernel.prompt_template
litellm.model_cost litellm.utils litellm.get_model_info unittest future __future__ mimetypes zlib gzip bz2 lzma
pickle cloudpickle loguru structlog opentelemetry
"""
INERT = """
builtins.print logging warnings.warn pprint.pprint rich.print rich.console rich.pretty rich.markdown rich.panel
IPython.display matplotlib.pyplot.show loguru structlog time.sleep asyncio.sleep tqdm langfuse wandb mlflow opik
weave sentry_sdk posthog prometheus_client langgraph.config.get_stream_writer streamlit.write streamlit.markdown
streamlit.info chainlit.Message smtplib shutil.rmtree os.makedirs os.remove os.mkdir os.unlink os.chdir
"""
CHANCE = "random secrets numpy.random time.time time.monotonic time.perf_counter"
FIXED = """
os.environ os.getenv os.getcwd dotenv argparse pydantic_settings sys.argv omegaconf hydra configparser decouple
dynaconf streamlit.secrets streamlit.session_state importlib.resources langgraph.config.get_config
langgraph.config.get_store langgraph.runtime temporalio.workflow.in_workflow
"""
MODEL = """
openai anthropic litellm ollama groq cohere mistralai google.generativeai google.genai vertexai together replicate
fireworks cerebras transformers.pipeline transformers.AutoModelForCausalLM vllm.LLM llama_cpp ctransformers dspy
instructor outlines guidance marvin magentic ell promptflow huggingface_hub.InferenceClient langchain.chat_models
langchain.llms langchain_community.chat_models langchain_community.llms pydantic_ai autogen crewai swarm
agents.Agent autogen_ext.models
agents.Runner agents.models agents.ImageGenerationTool
smolagents.LiteLLMModel smolagents.InferenceClientModel smolagents.HfApiModel smolagents.OpenAIServerModel
smolagents.TransformersModel boto3.client.invoke_model botocore_bedrock aisuite portkey_ai xai_sdk
zhipuai dashscope qianfan ai21 aleph_alpha_client llama_index.llms openai_agents claude_agent_sdk semantic_kernel
haystack.components.generators mirascope baml_client openevals.llm openevals.trajectory.llm
agentevals.trajectory.llm langchain.evaluation.load_evaluator trustcall autoevals deepeval.metrics.GEval ragas.metrics
"""

LIBRARIES: dict[str, tuple[str, str]] = {
    name: (kind, detail)
    for kind, detail, names in (
        ("world", "exec", EXEC),
        ("world", "env", ENV),
        ("world", "http", HTTP),
        ("world", "search", SEARCH),
        ("world", "sql", SQL),
        ("world", "file", FILE),
        ("human", "", HUMAN),
        ("form", "", FORM),
        ("check", "", CHECK),
        ("pure", "", PURE),
        ("inert", "", INERT),
        ("chance", "", CHANCE),
        ("fixed", "", FIXED),
        ("model", "", MODEL),
    )
    for name in names.split()
}

BY_METHOD: dict[tuple[str, str], tuple[str, str]] = {
    ("pathlib", "read_text"): ("world", "file"),
    ("pathlib", "read_bytes"): ("world", "file"),
    ("pathlib", "exists"): ("world", "file"),
    ("pathlib", "is_file"): ("world", "file"),
    ("pathlib", "iterdir"): ("world", "file"),
    ("pathlib", "glob"): ("world", "file"),
    ("pathlib", "rglob"): ("world", "file"),
    ("pathlib", "stat"): ("world", "file"),
    ("pathlib", "write_text"): ("inert", ""),
    ("pathlib", "write_bytes"): ("inert", ""),
    ("pathlib", "mkdir"): ("inert", ""),
    ("pathlib", "unlink"): ("inert", ""),
    ("re", "search"): ("pure", ""),
    ("re", "fullmatch"): ("form", ""),
    ("re", "match"): ("form", ""),
    ("pydantic", "model_validate"): ("form", ""),
    **{(m, "count_tokens"): ("pure", "") for m in ("anthropic", "google", "vertexai")},
    ("openai", "embeddings"): ("pure", ""),
    ("openai", "Embedding"): ("pure", ""),
    ("sympy", "solve"): ("world", "exec"),
    ("sys", "stdin"): ("human", ""),
    # who puts what into a queue is out of sight: a person in another thread, or the loop itself
    **{(m, n): ("unknown", "") for m in ("queue", "multiprocessing") for n in ("get", "get_nowait", "empty", "qsize")},
    **{("asyncio", n): ("unknown", "") for n in ("get", "get_nowait", "empty", "qsize")},
}
"""(first part of the name, method) → what the method does, where it differs from the rest of the library."""

# Looks a dotted name up: first as a whole, then by what the classes of LangChain and its like are called.


@dataclass(frozen=True, slots=True)
class KnownCall:
    """What a call does.

    Args:
        kind: world, human, form, check, pure, inert, chance, fixed, model, parser, handoff, agent or unknown.
        detail: of world: exec, search, http, sql, file, env or tool.
    """

    kind: str
    detail: str = ""


EMBEDDING_CLIENTS = frozenset({"openai", "litellm", "mistralai", "ollama"})
"""Their `client.embeddings.create(…)` is no language model."""
UNKNOWN = KnownCall("unknown")
FAMILIES = re.compile(r"^(langchain|langgraph|llama_index|haystack|semantic_kernel)([_.]|$)")

# How classes and functions of one family are called; the first that fits counts. A word alone stands for a part of
# the name; `^` and `$` stand for its ends.
CLASSES: tuple[tuple[KnownCall, str], ...] = (
    (KnownCall("handoff"), "create_handoff_tool create_forward_message_tool"),
    (KnownCall("pure"), "Embeddings?$ HuggingFaceEmbedding"),
    (KnownCall("parser"), "OutputParser$ Parser$"),
    (KnownCall("human"), "^HumanInput ^HumanApproval"),
    (
        KnownCall("model"),
        r"""
        (^|[a-z])Chat(?!Prompt|Message|History|Result|Generation|Bot)([A-Z]|$) ^init_chat_model LLM$ ^(Azure)?OpenAI$
        ^Anthropic$ ^Ollama$ ^LlamaCpp$ ^VertexAI$ ^Bedrock$ ^Cohere$ ^GPT4All$ ^HuggingFace(Pipeline|Endpoint|Hub)$
        ^CTransformers$ ^Replicate$ ^Together$ ^Fireworks$ ^GoogleGenerativeAI$ ^GooglePalm$ Chain$
        ^load_(chain|summarize_chain|qa_chain) ^Fake\w*(Model|LLM)$ ^Generic\w*ChatModel$
        """,
    ),
    (
        KnownCall("world", "exec"),
        "REPL ^Shell ^Bash CodeInterpreter E2B ^Riza ^Sandbox PyodideSandbox AzureDynamicSessions ^Terminal",
    ),
    (KnownCall("world", "sql"), r"SQL ^Spark BigQuery ^Cypher Neo4j\w*Chain"),
    (
        KnownCall("world", "search"),
        r"""
        [Rr]etriev VectorStore ^VectorDB as_retriever similarity_search QueryEngine Index$ ^Chroma$ ^FAISS$ ^Qdrant$
        ^Pinecone$ ^Weaviate$ ^Milvus$ ^PGVector$ ^Redis$ ^LanceDB$ ^DocArray ^SKLearn ^ElasticsearchStore$ ^OpenSearch
        ^AstraDB ^MongoDBAtlas ^Annoy$ ^Vectara$ ^BM25 ^TFIDF
        """,
    ),
    (
        KnownCall("world", "search"),
        r"""
        Search ^Tavily ^DuckDuckGo ^Wiki ^Arxiv ^Pub[Mm]ed ^Brave ^Serp ^Bing ^Exa ^Wolfram ^SemanticScholar ^You ^Jina
        ^Google(Search|Serper|Scholar|Trends|Finance|Jobs|Places|Lens) ^Searx ^StackExchange ^AskNews ^Metaphor
        ^Outline ^Merriam ^Dataherald ^Golden ^Linkup
        """,
    ),
    (
        KnownCall("world", "http"),
        r"""
        ^Requests Browser Playwright Loader$ ^OpenWeather ^YahooFinance ^Polygon ^AlphaVantage ^Gmail ^O(ffice)?365
        ^Slack ^Git[Hh]ub ^GitLab ^Jira ^Zapier ^Twilio ^OpenAPI ^Graph[Qq][Ll] ^NASA ^Steam ^Clickup ^IFTTT ^AINetwork
        ^Amadeus ^Calendar ^Nuclia ^Financial ^StripeAgent Wrapper$ Toolkit$ ^WebScraper ^FireCrawl ^Hyperbrowser ^Apify
        """,
    ),
    (
        KnownCall("world", "file"),
        "^(ReadFile|WriteFile|ListDirectory|FileSearch|CopyFile|MoveFile|DeleteFile|FileManagement) FileSystem",
    ),
    (
        KnownCall("pure"),
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
def describe(path: str) -> KnownCall:
    """What a call of `path` does.

    Args:
        path: dotted, with or without `()` where something was called on the way: `requests.get().json`.
    """
    parts = path.replace("()", "").split(".")
    special = BY_METHOD.get((parts[0], parts[-1]))
    if special is not None:
        return KnownCall(*special)
    if parts[0] in EMBEDDING_CLIENTS and "embeddings" in parts:
        return KnownCall("pure")
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
    return KnownCall(*named) if named is not None else UNKNOWN


def _by_class(parts: list[str]) -> KnownCall | None:
    last_first = [p for p in parts[1:] if p[:1].isupper()] or parts[-1:]
    method = parts[-1]
    for name in (last_first[0], method):
        for pattern, known in CLASS_PATTERNS:
            if pattern.search(name):
                return known
    return None


# Sets of names, written as text.


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())

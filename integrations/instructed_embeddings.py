r"""Embeddings whose queries carry an instruction and whose documents are plain.

Qwen3-Embedding and its like are trained on `Instruct: {task}\nQuery:{query}`, without a space
after `Query:`.
"""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from remember_graph.errors import ConfigError

QWEN3_TASK = "Given a web search query, retrieve relevant passages that answer the query"
QWEN3_QUERY = "Instruct: {task}\nQuery:{query}"


class InstructedEmbeddings(Embeddings):
    r"""Puts each query into a template and hands documents on as they are.

    Args:
        base: Makes the vectors.
        query_template: With `{query}` and, where there is one, `{task}`.
        task: One English sentence; default that of Qwen3-Embedding.

    Raises:
        ConfigError: The template has no `{query}`.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> InstructedEmbeddings(DeterministicFakeEmbedding(size=4)).instructed("Which boat?")[-17:]
        'Query:Which boat?'
    """

    def __init__(
        self, base: Embeddings, query_template: str = QWEN3_QUERY, task: str = QWEN3_TASK
    ) -> None:
        if "{query}" not in query_template:
            raise ConfigError(f"`query_template` must have {{query}} in it, got {query_template!r}")
        self._base = base
        before, _, after = query_template.partition("{query}")
        # Replaced, not formatted: neither task nor query may be read as a template.
        self._before, self._after = before.replace("{task}", task), after.replace("{task}", task)
        # An encoder is named by it; the documents' vectors are those of the base.
        self.model = str(
            getattr(base, "model", None) or getattr(base, "model_name", "") or type(base).__name__
        )

    def instructed(self, query: str) -> str:
        """The query as the base gets it."""
        return f"{self._before}{query}{self._after}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of documents."""
        return self._base.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self._base.embed_query(self.instructed(text))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The async twin of `embed_documents`."""
        return await self._base.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """The async twin of `embed_query`."""
        return await self._base.aembed_query(self.instructed(text))

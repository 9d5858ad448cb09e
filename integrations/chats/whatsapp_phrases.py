"""What WhatsApp itself writes into a message: attachments, deletions, edits, notices.

These are plain text in the phone's language. The words below cover the languages that exports
were seen in; a phrase that is not known stays the text of the message, nothing is lost.
"""

# ruff: noqa: RUF001, RUF003  the phrases are in other scripts

from __future__ import annotations

import re

from remember_graph.integrations.chats.whatsapp_headers import MARKS

_EDGES = MARKS + " \t\n\r\x0b\x0c\xa0\u2009\u202f"
_PROGRAM_MARK = "\u200e"  # put before every phrase of the iOS program
_LONGEST_MARK = 80
_LONGEST_PLACEHOLDER = 300  # a file name and a phrase

# <Media omitted>, <Multimedia omitido>, <View once voice message omitted>
_LEFT_OUT = re.compile(
    r"<[^<>\n]{0,40}(?:media|médi|mídi|medien|medya|médias|медиа|мультим|وسائط|الوسائط|מדיה|मीडिया"
    r"|媒體|媒体|メディア|미디어|omitted|omitid|omess|omis|weggelaten|ausgeschlossen|ausgelassen"
    r"|pominię|vynechán|utelämnad|udeladt|utelatt)[^<>\n]{0,40}>",
    re.IGNORECASE,
)
# image omitted, Bild weggelassen, 图片已忽略; a document's name is before it:
# Plan.pdf • 3 pages document omitted
_KINDS = (
    r"image|video|vidéo|vídeo|audio|áudio|ses|sticker|gif|document|contact card|voice message"
    r"|imagen|documento|tarjeta de contacto|foto|bild|dokument|kontaktkarte|photo|carte du contact"
    r"|imagem|figurinha|cartão do contato|immagine|afbeelding|bilde|billede|изображение|видео|аудио"
    r"|стикер|документ|görüntü|çıkartma|belge|obraz|grafika|naklejka|wideo"
)
_OMITTED = (
    r"omitted|omitid[oa]|omess[oa]|weggelassen|weggelaten|ausgelassen|absente?|omise?|ocultad[oa]"
    r"|пропущен[оа]?|отсутствует|dahil edilmedi|pominięt[oaey]|utelämnad|udeladt|utelatt"
)
_CJK_LEFT_OUT = (
    r"(?:图像|图片|视频|音频|贴图|文档|圖片|影片|音訊|貼圖|文件|語音訊息)已?(?:忽略|省略|略去)"
    r"|(?:画像|動画|音声|ステッカー|文書|書類)[はが](?:省略|除外)され(?:ました|ています)"
    r"|(?:이미지|사진|동영상|오디오|스티커|문서)\s?생략됨"
)
_KIND_LEFT_OUT = re.compile(
    rf"(?:(?P<name>[^\n]+?\.\w{{1,5}})(?:\s*•[^\n]*?)?\s*)?"
    rf"(?:(?:{_KINDS})\s(?:{_OMITTED})|{_CJK_LEFT_OUT})[.。]?",
    re.IGNORECASE,
)
# IMG-20240312-WA0001.jpg (file attached), PTT-20240312-WA0002.opus (Datei angehängt)
_ANDROID_FILE = re.compile(
    r"(?P<name>[^\n<>]{1,200}\.\w{1,5}) \((?:[^()\n]*(?:attach|adjunt|angehängt|joint|anexad"
    r"|allegat|bijgevoegd|добавлен|прикреп|ekli|مرفق|附件|附檔|添付|첨부|załącz|bifoga|vedhæft|vedlagt)[^()\n]*)\)",
    re.IGNORECASE,
)
# <attached: 00012-PHOTO.jpg>, <pièce jointe : …>, <附件：…>: every language has this shape
_IOS_FILE = re.compile(
    rf"(?P<lead>(?:^|[{MARKS}\n])\s?)<[^<>:：\n]{{1,30}}[:：]\s?(?P<name>[^<>\n]+\.\w{{1,5}})>"
)
_EDITED = re.compile(
    rf"[{MARKS}\s]*<(?:this message was edited|(?:se )?editó este mensaje\.?|mensaje editado"
    r"|diese nachricht wurde bearbeitet\.?|ce message a été modifié\.?|mensagem editada"
    r"|esta mensagem foi editada|questo messaggio è stato modificato\.?|dit bericht is bewerkt\.?"
    r"|сообщение изменено|данное сообщение изменено|bu mesaj düzenlendi|تم تعديل هذه الرسالة"
    rf"|已編輯此訊息|此消息已编辑|このメッセージは編集されました)\.?>[{MARKS}\s]*$",
    re.IGNORECASE,
)
_DELETED = re.compile(
    r"(?:this message was deleted(?: by admin [^\n]+)?|you deleted this message(?: as admin)?"
    r"|(?:se )?eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|ce message a été supprimé|vous avez supprimé ce message"
    r"|mensagem apagada|esta mensagem foi apagada|você apagou esta mensagem|apagou esta mensagem"
    r"|questo messaggio è stato eliminato|hai eliminato questo messaggio"
    r"|dit bericht is verwijderd|je hebt dit bericht verwijderd"
    r"|(?:данное )?сообщение удалено|вы удалили данное сообщение"
    r"|bu mesaj silindi|bu mesajı sildiniz"
    r"|تم حذف هذه الرسالة|لقد حذفت هذه الرسالة|此訊息已刪除|你已刪除此訊息"
    r"|此消息已删除|您删除了此消息"
    r"|このメッセージは削除されました|삭제된 메시지입니다"
    r"|ta wiadomość została usunięta)[.。]?",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"end-to-end|ende-zu-ende|extremo a extremo|bout en bout|ponta a ponta|сквозн|端到端|端對端"
    r"|エンドツーエンド|종단간|uçtan uca| created (?:this |the )?group| added | removed | left\.?$"
    r"| joined using | changed (?:the|this|their) |security code |missed (?:voice|video) call"
    r"|^(?:voice|video) call|now an admin|disappearing messages| creó (?:este|el) grupo"
    r"|hat die gruppe | a créé (?:le|ce) groupe| criou (?:este|o) grupo",
    re.IGNORECASE,
)


def trim(text: str) -> str:
    """The text without spaces and invisible marks at its ends."""
    return text.strip(_EDGES)


def take_edit_mark(text: str) -> tuple[str, bool]:
    """The text without WhatsApp's mark for edited messages, and whether it had one."""
    body, tail = text[:-_LONGEST_MARK], text[-_LONGEST_MARK:]
    without = _EDITED.sub("", tail)
    return body + without, without != tail


def is_deleted(text: str) -> bool:
    """Whether the whole text is the marker of a deleted message."""
    return _DELETED.fullmatch(trim(text)) is not None


def is_notice(text: str) -> bool:
    """Whether iOS wrote a notice of its own under a person's or the group's name."""
    first_line = text.split("\n", 1)[0]
    marked = first_line.lstrip(" ").startswith(_PROGRAM_MARK)
    return marked and _NOTICE.search(trim(first_line)) is not None


def name_attachments(text: str) -> str:
    """The text with every placeholder of a file as `[attachment]` or `[attachment: name]`."""
    first, line_end, caption = text.partition("\n")
    first = _first_line(trim(first)) or first
    # Behind a caption only the invisible mark tells iOS's placeholder from typed text.
    return _IOS_FILE.sub(_marked_file, first + line_end + caption)


def _first_line(line: str) -> str | None:
    if len(line) > _LONGEST_PLACEHOLDER:
        return None
    if _LEFT_OUT.fullmatch(line):
        return "[attachment]"
    match = _ANDROID_FILE.fullmatch(line) or _KIND_LEFT_OUT.fullmatch(line.replace("\u200e", ""))
    return match and _attachment(match["name"])


def _marked_file(match: re.Match[str]) -> str:
    return match["lead"].strip(MARKS) + _attachment(match["name"])


def _attachment(name: str | None) -> str:
    return f"[attachment: {trim(name)}]" if name else "[attachment]"

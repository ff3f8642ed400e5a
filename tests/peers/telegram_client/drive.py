"""Drives a Bot API server with python-telegram-bot and says, as JSON, what it saw.

Usage: drive.py BASE_URL TOKEN CHAT_ID

It greets the chat with two buttons, waits for a text and for a click (the test makes both), answers
the click, edits the greeting, and checks that errors come back as the library's own error types.
"""

import asyncio
import json
import sys

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, InvalidToken, RetryAfter


async def main(base: str, token: str, chat: int) -> dict:
    saw = {}
    async with Bot(token, base_url=f"{base}/bot") as bot:
        saw["username"] = bot.username
        await bot.delete_webhook(drop_pending_updates=False)
        await bot.set_my_commands([("status", "What is going on")])
        await bot.send_chat_action(chat, ChatAction.TYPING)
        greeting = await bot.send_message(
            chat,
            "<b>Hello</b> &amp; <code>welcome</code>",
            parse_mode=ParseMode.HTML,
            link_preview_options=LinkPreviewOptions(is_disabled=True),
            reply_markup=InlineKeyboardMarkup(
                [[InlineKeyboardButton("Yes", callback_data="y" * 64),
                  InlineKeyboardButton("No", callback_data="n")]]
            ),
        )
        saw["greeting"] = [greeting.text, [entity.type for entity in greeting.entities]]

        offset, text, click = None, None, None
        while text is None or click is None:
            for update in await bot.get_updates(
                offset=offset, timeout=10, allowed_updates=["message", "callback_query"]
            ):
                offset = update.update_id + 1
                if update.message is not None:
                    text = update.message
                if update.callback_query is not None:
                    click = update.callback_query
        saw["text"] = [text.text, text.from_user.id, text.chat.type]
        saw["click"] = [click.data, click.from_user.id, click.message.message_id == greeting.message_id]
        saw["answered"] = await bot.answer_callback_query(click.id, text="noted")

        edited = await bot.edit_message_text("Done", chat_id=chat, message_id=greeting.message_id)
        saw["edited"] = [edited.text, edited.reply_markup is None]
        errors = {
            "not modified": bot.edit_message_text("Done", chat_id=chat, message_id=greeting.message_id),
            "bad markup": bot.send_message(chat, "<b>open", parse_mode=ParseMode.HTML),
            "too long": bot.send_message(chat, "x" * 4097),
            "no chat": bot.send_message(31337, "anyone?"),
            "old click": bot.answer_callback_query(click.id),
        }
        for name, call in errors.items():
            try:
                await call
                saw[name] = "accepted"
            except BadRequest as error:
                saw[name] = error.message
        try:
            await bot.send_message(chat, "limited")
            saw["limited"] = "accepted"
        except RetryAfter as error:
            saw["limited"] = str(error.retry_after)
        # Nothing is left: what was confirmed does not come again.
        saw["left"] = len(await bot.get_updates(offset=offset, timeout=0))
    try:
        async with Bot(token[:-4] + "XXXX", base_url=f"{base}/bot"):
            saw["wrong token"] = "accepted"
    except InvalidToken:
        saw["wrong token"] = "refused"
    return saw


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))))

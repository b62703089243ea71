import type { Transaction } from "../../store/index.ts"
import { dropTexts as dropNamed } from "./commands.ts"
import { messageKinds } from "./kind.ts"
import { loginNames } from "./login-words.ts"
import { customText } from "./model.ts"

export type { MessageKind, MessageValues } from "./kind.ts"
export { type LoginWords, loginWords } from "./login-words.ts"
export { type MessageAsked, type MessageText, messageText } from "./message.ts"

/** Takes back all that an organisation has said, when it goes. */
export const dropTexts = (tx: Transaction, orgId: string): void =>
  dropNamed(tx, orgId, [
    ...Object.keys(messageKinds).map((kind) => `message.${kind}`),
    ...Object.values(loginNames),
  ])

/** What this module is to the whole. */
export const module = {
  aggregates: [customText],
  operations: () => import("./api.ts"),
} as const

import type { Cx, Transaction } from "../../store/index.ts"
import { dropTexts as dropNamed, saidAt } from "./commands.ts"
import { allMessageKinds, ownKinds } from "./kind.ts"
import { loginNames } from "./login-words.ts"
import { customText, type Meant, type Texts } from "./model.ts"

export type { MessageKind, MessageValues } from "./kind.ts"
export { type LoginWords, loginWords } from "./login-words.ts"
export { type MessageAsked, type MessageText, messageText } from "./message.ts"

/** Takes back all that an organisation has said, when it goes. */
export const dropTexts = (tx: Transaction, orgId: string): void =>
  dropNamed(tx, orgId, [
    ...Object.keys(allMessageKinds).map((kind) => `message.${kind}`),
    ...Object.values(loginNames),
  ])

/** The messages that are ours, by their kinds. */
export const ownMessageKinds: readonly string[] = Object.keys(ownKinds)

/** What an organisation itself says with a template in a language; undefined: nothing. */
export const saidTexts = (cx: Cx, orgId: string, meant: Meant): Texts | undefined =>
  saidAt(cx, orgId, meant)

/** What this module is to the whole. */
export const module = {
  aggregates: [customText],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

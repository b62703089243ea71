import type { Cx, Transaction } from "../../store/index.ts"
import { customTextsAt, dropTexts as dropNamed } from "./commands.ts"
import { additionalKinds, allMessageKinds } from "./kind.ts"
import { loginNames } from "./login-texts.ts"
import { customText, type TemplateRef, type Texts } from "./model.ts"

export type { MessageKind, MessageValues } from "./kind.ts"
export { type CustomLoginTexts, customLoginTexts } from "./login-texts.ts"
export { type MessageText, type MessageTextInput, renderMessageText } from "./message.ts"

/** Deletes all texts of a deleted organization. */
export const dropTexts = (tx: Transaction, orgId: string): void =>
  dropNamed(tx, orgId, [
    ...Object.keys(allMessageKinds).map((kind) => `message.${kind}`),
    ...Object.values(loginNames),
  ])

/** The additional message kinds of Latchkey. */
export const additionalMessageKinds: readonly string[] = Object.keys(additionalKinds)

/** The texts that an organization itself has set for a template and language; undefined if none. */
export const customTextsOf = (cx: Cx, orgId: string, ref: TemplateRef): Texts | undefined =>
  customTextsAt(cx, orgId, ref)

/** The registration of this module. */
export const module = {
  aggregates: [customText],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const

import { customText } from "./model.ts"

export type { MessageKind, MessageValues } from "./kind.ts"
export { type MessageAsked, type MessageText, messageText } from "./message.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [customText],
  operations: () => import("./api.ts"),
} as const

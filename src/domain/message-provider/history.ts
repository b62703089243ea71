import { historyOf } from "../../store/index.ts"
import { messageProviders, providerSecret } from "./model.ts"

/** The operation that makes another provider of a channel the active one, or none. */
const formatSwitch = (id: string, to: string | undefined, from?: string) => {
  const provider = id === "email" ? "EmailProvider" : "SMSProvider"
  if (to !== undefined) return [`Activate${provider}`, { id: to }] as const
  return from === undefined ? "parts" : ([`Deactivate${provider}`, { id: from }] as const)
}

export const messageProvidersHistory = historyOf(messageProviders, {
  hidden: ["version", "created", "changed", "authors"].map((field) => `providers.*.${field}`),
  operations: "core.admin.v1.AdminService/*Provider",
  undo: {
    "*activated": ({ id, before, now }) => formatSwitch(id, before.active, now.active),
    "*deactivated": ({ id, before }) => formatSwitch(id, before.active),
  },
  noUndo: { settings: ["*.changed"], removal: ["instance.sms.configremoved"] },
})

export const providerSecretHistory = historyOf(providerSecret, { noUndo: { secret: ["*"] } })

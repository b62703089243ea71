import { historyOf, type Undo } from "../../store/index.ts"
import { messageProviders, type ProviderEvent, type Providers, providerSecret } from "./model.ts"

type ProviderUndo = Undo<ProviderEvent, Providers>

const operations = {
  email: { activate: "ActivateEmailProvider", deactivate: "DeactivateEmailProvider" },
  sms: { activate: "ActivateSMSProvider", deactivate: "DeactivateSMSProvider" },
} as const

const channelOf = (id: string) => (id === "email" ? operations.email : operations.sms)

const deactivated: ProviderUndo = ({ id, before: { active } }) =>
  active === undefined ? "parts" : [channelOf(id).activate, { id: active }]

const activated: ProviderUndo = (change) => {
  const { id, before, now } = change
  if (before.active !== undefined) return [channelOf(id).activate, { id: before.active }]
  return now.active === undefined ? "parts" : [channelOf(id).deactivate, { id: now.active }]
}

export const messageProvidersHistory = historyOf(messageProviders, {
  hidden: ["version", "created", "changed", "authors"].map((field) => `providers.*.${field}`),
  operations: "core.admin.v1.AdminService/*Provider",
  undo: {
    "instance.smtp.config.activated": activated,
    "instance.smtp.config.deactivated": deactivated,
    "instance.sms.configactivated": activated,
    "instance.sms.configdeactivated": deactivated,
  },
  noUndo: { settings: ["*.changed"], removal: ["instance.sms.configremoved"] },
})

export const providerSecretHistory = historyOf(providerSecret, { noUndo: { secret: ["*"] } })

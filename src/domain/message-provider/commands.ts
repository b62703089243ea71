import { Fault, fieldError } from "../../kernel/fault.ts"
import { toAsciiEmail } from "../../protocol/email.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { hasDomain, isOnlyInstance } from "../instance/index.ts"
import { domainPolicy, policyOf } from "../policy/index.ts"
import { validateProvider } from "./check.ts"
import {
  type Channel,
  messageProviders,
  type Provider,
  type ProviderEvent,
  type ProviderSecretEvent,
  type Providers,
  providerSecret,
  type Settings,
} from "./model.ts"

const providersMax = 100

/** The new settings of a provider; without a secret, the existing one is kept if possible. */
export type ProviderInput = { readonly settings: Settings; readonly secret?: string | undefined }

/** Adds a provider; it sends nothing until it is activated. */
export async function addProvider(
  cx: Cx,
  channel: Channel,
  input: ProviderInput,
): Promise<Receipt> {
  const id = cx.ids.next()
  validateSettings(cx, input.settings)
  return changeProviders(cx, channel, id, (tx, { providers }) => {
    if (Object.keys(providers).length >= providersMax) {
      throw new Fault(
        "resource_exhausted",
        "message_provider.too_many",
        `there can be at most ${providersMax} providers; delete one first`,
      )
    }
    if (input.secret) storeSecret(tx, id, input.settings, input.secret)
    return [settingsEvent("added", channel, id, input.settings)]
  })
}

/**
 * Updates a provider to the given settings, or to settings derived from the current ones. A secret
 * belongs to one destination: if the destination changes, the secret is deleted unless it is set
 * again.
 */
export async function changeProvider(
  cx: Cx,
  channel: Channel,
  id: string,
  input:
    | ProviderInput
    | { readonly kind: Settings["kind"]; readonly say: (before: Provider) => ProviderInput },
): Promise<Receipt> {
  if (!("say" in input)) validateSettings(cx, input.settings)
  return changeProviders(cx, channel, id, (tx, state) => {
    const before = requireProvider(state, id, "say" in input ? input.kind : input.settings.kind)
    const { settings, secret } = "say" in input ? input.say(before) : input
    if ("say" in input) validateSettings(cx, settings)
    const isSame = JSON.stringify(settingsOf(before)) === JSON.stringify(settings)
    if (isSame && !secret) throw unchangedError()
    if (secret) storeSecret(tx, id, settings, secret)
    else if (destinationOf(before) !== destinationOf(settings)) deleteSecret(tx, id)
    return [settingsEvent("changed", channel, id, settings)]
  })
}

/** Updates only the secret of a provider. */
export async function changeSecret(
  cx: Cx,
  channel: Channel,
  id: string,
  { kind, secret }: { readonly kind: Settings["kind"]; readonly secret: string },
): Promise<Receipt> {
  if (secret === "") {
    throw new Fault("invalid_argument", "message_provider.secret_missing", "secret is required")
  }
  return changeProviders(cx, channel, id, (tx, state) => {
    const settings = requireProvider(state, id, kind)
    if (settings.kind === "smtp" && settings.auth.kind === "none") throw noSecretNeededError()
    storeSecret(tx, id, settings, secret)
    return [settingsEvent("changed", channel, id, settingsOf(settings))]
  })
}

/** Activates a provider, and deactivates the other ones of its channel. */
export const activateProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  changeProviders(cx, channel, id, (_, state) => {
    requireProvider(state, id)
    if (state.active === id) throw unchangedError()
    return [stateEvent(channel, "activated", id)]
  })

/** Deactivates a provider. */
export const deactivateProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  changeProviders(cx, channel, id, (_, state) => {
    requireProvider(state, id)
    if (state.active !== id) throw unchangedError()
    return [stateEvent(channel, "deactivated", id)]
  })

/** Deletes a provider and its secret. */
export const removeProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  changeProviders(cx, channel, id, (tx, state) => {
    requireProvider(state, id)
    deleteSecret(tx, id)
    return [stateEvent(channel, "removed", id)]
  })

/** The providers of a channel. */
export const providersOf = (cx: Cx, channel: Channel): Providers =>
  cx.store.state(cx, messageProviders, channel)

/** A provider by its ID. */
export function findProvider(cx: Cx, channel: Channel, id: string): Provider {
  return requireProvider(providersOf(cx, channel), id)
}

/** The active provider of a channel; undefined if there is none. */
export function activeProvider(cx: Cx, channel: Channel): Provider | undefined {
  const { active, providers } = providersOf(cx, channel)
  return active === undefined ? undefined : providers[active]
}

/** The decrypted secret of a provider; empty if there is none. */
export function secretOf(cx: Cx, id: string): string {
  const { sealed } = cx.store.state(cx, providerSecret, id)
  return sealed === "" ? "" : (cx.secrets.open("seal", sealed, sealContext(id)) ?? "")
}

type Decide = (tx: Transaction, state: Providers) => readonly Draft<ProviderEvent>[]

async function changeProviders(
  cx: Cx,
  channel: Channel,
  id: string,
  decide: Decide,
): Promise<Receipt> {
  const receipts = await cx.store.transact(cx, (tx) => {
    const drafts = decide(tx, tx.state(messageProviders, channel))
    tx.append(messageProviders, channel, drafts, cx.instance)
  })
  return { ...receipts.receipt(messageProviders, channel), id }
}

function requireProvider({ providers }: Providers, id: string, kind?: Settings["kind"]): Provider {
  const found = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (found && (kind === undefined || found.kind === kind)) return found
  throw new Fault("not_found", "message_provider.missing", "provider not found")
}

/**
 * Validates the settings, including the server's restrictions and the domain policy of the instance
 * for sender addresses.
 */
export function validateSettings(cx: Cx, settings: Settings): void {
  validateProvider(settings)
  if (settings.kind !== "smtp") return
  if (settings.privateNetwork && !isOnlyInstance(cx)) {
    throw fieldError(
      "message_provider.private_network",
      "private_network",
      "must be off, because this service has several instances; the operator can set mail_allow",
    )
  }
  if (!policyOf(cx, "", domainPolicy).smtpSenderAddressMatchesInstanceDomain) return
  const sender = toAsciiEmail(settings.senderAddress)
  const domain = sender.slice(sender.lastIndexOf("@") + 1)
  if (hasDomain(cx, domain)) return
  throw fieldError(
    "message_provider.sender_foreign",
    "sender_address",
    "must belong to a domain of the instance, as required by the domain policy",
  )
}

const sealContext = (id: string): string => `message_provider/${id}`

function storeSecret(tx: Transaction, id: string, { kind }: Settings, secret: string): void {
  const stored: Draft<ProviderSecretEvent> = {
    type: secretTypes[kind],
    data: {},
    private: { sealed: tx.secrets.seal("seal", secret, sealContext(id)) },
    erase: {},
  }
  tx.append(providerSecret, id, [stored], tx.instance)
}

const secretTypes = {
  smtp: "instance.smtp.config.password.changed",
  twilio: "instance.sms.configtwilio.token.changed",
  http: "message.provider.signing.key.changed",
} as const

function deleteSecret(tx: Transaction, id: string): void {
  if (tx.state(providerSecret, id).sealed === "") return
  tx.append(providerSecret, id, [{ type: "message.provider.secret.removed", data: {}, erase: {} }])
}

/**
 * The destination to which the secret of a provider is sent; undefined for signing keys, which are
 * never sent.
 */
export function destinationOf(settings: Settings): string {
  if (settings.kind === "http") return ""
  if (settings.kind === "twilio") return settings.sid
  const { host, tls, user, auth, implicitTls, caCertificate, privateNetwork } = settings
  return JSON.stringify([host, tls, user, auth, implicitTls, caCertificate, privateNetwork])
}

function settingsOf({ id: _, version: __, created: ___, changed: ____, ...settings }: Provider) {
  return settings
}

function settingsEvent(
  action: "added" | "changed",
  channel: Channel,
  id: string,
  settings: Settings,
): Draft<ProviderEvent> {
  if (settings.kind === "smtp") {
    return { type: `instance.smtp.config.${action}`, data: { id, ...settings } }
  }
  if (settings.kind === "twilio") {
    return { type: `instance.sms.configtwilio.${action}`, data: { id, ...settings } }
  }
  return channel === "email"
    ? { type: `instance.smtp.config.http.${action}`, data: { id, ...settings } }
    : { type: `instance.sms.confighttp.${action}`, data: { id, ...settings } }
}

const stateEvent = (
  channel: Channel,
  action: "activated" | "deactivated" | "removed",
  id: string,
): Draft<ProviderEvent> =>
  channel === "email"
    ? { type: `instance.smtp.config.${action}`, data: { id } }
    : { type: `instance.sms.config${action}`, data: { id } }

const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "message_provider.unchanged",
    "nothing to update: the provider already has these values",
  )

const noSecretNeededError = () =>
  new Fault(
    "failed_precondition",
    "message_provider.wants_no_secret",
    "the server is used without a password; set the user first",
  )

/** Throws because there is no active provider. */
export function requireNoProvider(): never {
  throw new Fault(
    "not_found",
    "message_provider.none_active",
    "no provider is active; add one and activate it",
  )
}

import { aggregate, type Event, streamPartByKey } from "../../store/index.ts"

/** The channels of messages; each has providers, of which one can be active. */
export const channels = ["email", "sms"] as const
export type Channel = (typeof channels)[number]

/**
 * How the client authenticates to an SMTP server: not at all, with a password, or with an OAuth
 * access token.
 */
export type SmtpAuth =
  | { readonly kind: "none" }
  | { readonly kind: "plain" }
  | {
      readonly kind: "xoauth2"
      readonly tokenEndpoint: string
      readonly scopes: readonly string[]
      readonly clientId: string
    }

export type Smtp = {
  readonly kind: "smtp"
  readonly description: string
  /** The host with an optional port; the default is 587. */
  readonly host: string
  readonly tls: boolean
  /** Whether TLS is used from the first byte on every port; absent means no. */
  readonly implicitTls?: boolean
  /** PEM; absent if the system's authorities are trusted. */
  readonly caCertificate?: string
  /** Whether the server can be in a private network; absent means no. */
  readonly privateNetwork?: boolean
  readonly user: string
  readonly senderAddress: string
  readonly senderName: string
  readonly replyToAddress: string
  readonly auth: SmtpAuth
}

export type Http = {
  readonly kind: "http"
  readonly description: string
  readonly endpoint: string
}

export type Twilio = {
  readonly kind: "twilio"
  readonly description: string
  readonly sid: string
  readonly senderNumber: string
  /** If set, Twilio Verify sends its own text with our code. */
  readonly verifyServiceSid: string
}

/** The settings of a provider without its secret. */
export type Settings = Smtp | Http | Twilio

export type Provider = Settings & {
  readonly id: string
  /** The version of the channel's stream at the last change. */
  readonly version: number
  /** In ms since the epoch, like `changed`. */
  readonly created: number
  readonly changed: number
}

type ProviderRef = { readonly id: string }

export type ProviderEvent =
  | Event<"instance.smtp.config.added", ProviderRef & Smtp>
  | Event<"instance.smtp.config.changed", ProviderRef & Smtp>
  | Event<"instance.smtp.config.http.added", ProviderRef & Http>
  | Event<"instance.smtp.config.http.changed", ProviderRef & Http>
  | Event<"instance.smtp.config.activated", ProviderRef>
  | Event<"instance.smtp.config.deactivated", ProviderRef>
  | Event<"instance.smtp.config.removed", ProviderRef>
  | Event<"instance.sms.configtwilio.added", ProviderRef & Twilio>
  | Event<"instance.sms.configtwilio.changed", ProviderRef & Twilio>
  | Event<"instance.sms.confighttp.added", ProviderRef & Http>
  | Event<"instance.sms.confighttp.changed", ProviderRef & Http>
  | Event<"instance.sms.configactivated", ProviderRef>
  | Event<"instance.sms.configdeactivated", ProviderRef>
  | Event<"instance.sms.configremoved", ProviderRef>

/** The providers of one channel by ID; messages are sent with the active one. */
export type Providers = {
  readonly active?: string | undefined
  readonly providers: Readonly<Record<string, Provider>>
}

type RecordedChange<Data> = {
  readonly data: Data
  readonly time: number
  readonly version: number
}

function withSettings(
  state: Providers,
  { data, time, version }: RecordedChange<ProviderRef & Settings>,
): Providers {
  const created = state.providers[data.id]?.created ?? time
  const provider: Provider = { ...data, version, created, changed: time }
  return { ...state, providers: { ...state.providers, [data.id]: provider } }
}

const withActive = (state: Providers, { data }: RecordedChange<ProviderRef>): Providers => ({
  ...state,
  active: data.id,
})

const withoutActive = (state: Providers): Providers => ({ ...state, active: undefined })

function withoutProvider(
  { active, providers }: Providers,
  { data }: RecordedChange<ProviderRef>,
): Providers {
  const { [data.id]: _, ...others } = providers
  return { active: active === data.id ? undefined : active, providers: others }
}

/** The ID is the channel. */
export const messageProviders = aggregate<ProviderEvent, Providers>({
  stream: "message_providers",
  part: streamPartByKey("id"),
  initial: { providers: {} },
  evolve: {
    "instance.smtp.config.added": withSettings,
    "instance.smtp.config.changed": withSettings,
    "instance.smtp.config.http.added": withSettings,
    "instance.smtp.config.http.changed": withSettings,
    "instance.smtp.config.activated": withActive,
    "instance.smtp.config.deactivated": withoutActive,
    "instance.smtp.config.removed": withoutProvider,
    "instance.sms.configtwilio.added": withSettings,
    "instance.sms.configtwilio.changed": withSettings,
    "instance.sms.confighttp.added": withSettings,
    "instance.sms.confighttp.changed": withSettings,
    "instance.sms.configactivated": withActive,
    "instance.sms.configdeactivated": withoutActive,
    "instance.sms.configremoved": withoutProvider,
  },
})

export type ProviderSecretEvent =
  | Event<
      "instance.smtp.config.password.changed",
      Record<never, never>,
      { readonly sealed: string }
    >
  | Event<
      "instance.sms.configtwilio.token.changed",
      Record<never, never>,
      { readonly sealed: string }
    >
  | Event<"message.provider.signing.key.changed", Record<never, never>, { readonly sealed: string }>
  | Event<"message.provider.secret.removed">

/** The sealed secret with which the client authenticates to a provider, or signs requests. */
export type ProviderSecret = { readonly sealed: string }

const noSecret: ProviderSecret = { sealed: "" }

const withSecret = (
  _: ProviderSecret,
  { private: secret }: { readonly private: { readonly sealed: string } | null },
): ProviderSecret => ({ sealed: secret?.sealed ?? "" })

/** One stream per provider, so that each secret can be erased separately. */
export const providerSecret = aggregate<ProviderSecretEvent, ProviderSecret>({
  stream: "message_provider_secret",
  initial: noSecret,
  evolve: {
    "instance.smtp.config.password.changed": withSecret,
    "instance.sms.configtwilio.token.changed": withSecret,
    "message.provider.signing.key.changed": withSecret,
    "message.provider.secret.removed": () => noSecret,
  },
})

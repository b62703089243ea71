import { Fault } from "../../kernel/fault.ts"
import type { DecisionContext, Draft } from "../../store/index.ts"
import { type InstanceEvent, instance } from "./model.ts"
import {
  type ClientRegistration,
  isRegistrationOff,
  type OidcSettings,
  type SecuritySettings,
} from "./setting.ts"

type SettingsInput = {
  readonly settings: Partial<OidcSettings>
  /** Whether a key signs with an algorithm; only the module of the keys can determine it. */
  readonly isSigning: (cx: DecisionContext, algorithm: string) => boolean
  /**
   * Whether a project can contain self-registered applications; absent if the registration settings
   * don't change.
   */
  readonly isRegistrable?: (cx: DecisionContext, projectId: string) => boolean
}

/** Adds the OIDC settings. */
export const addOidcSettings = instance.command<SettingsInput>((state, input, cx) => {
  requireActive(state.status)
  if (state.oidcSaid) {
    throw new Fault(
      "already_exists",
      "instance.oidc_settings_exist",
      "the settings already exist; update them instead",
    )
  }
  const settings = { ...state.oidc, ...input.settings }
  validateOidcSettings(cx, settings, input)
  validateRegistration(cx, state.oidc.registration, input)
  return [{ type: "instance.oidc.settings.added", data: settings }]
})

/** Updates the OIDC settings. Issued tokens are not affected. */
export const changeOidcSettings = instance.command<SettingsInput>((state, input, cx) => {
  requireActive(state.status)
  const settings = { ...state.oidc, ...input.settings }
  validateOidcSettings(cx, settings, input)
  validateRegistration(cx, state.oidc.registration, input)
  const changed = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(state.oidc, name)),
  )
  if (changed.length === 0) return []
  const event: Draft<InstanceEvent> = {
    type: "instance.oidc.settings.changed",
    data: Object.fromEntries(changed),
  }
  return [event]
})

/** Updates the security settings. */
export const setSecurity = instance.command<Partial<SecuritySettings>>((state, changes) => {
  requireActive(state.status)
  const settings: SecuritySettings = { ...state.security, ...changes }
  if (settings.enableIframeEmbedding && settings.allowedOrigins.length === 0) {
    throw invalidSettingError("allowed_origins is required if embedding is enabled")
  }
  for (const origin of settings.allowedOrigins) validateOrigin(origin)
  if (JSON.stringify(settings) === JSON.stringify(state.security)) return []
  return [{ type: "instance.policy.security.set", data: settings }]
})

const second = 1
const minute = 60
const day = 86_400

/**
 * The maximum lifetime of a signed token in seconds. A key that no longer signs is kept for this
 * long, regardless of the settings.
 */
export const signedLifetimeMax = 30 * day

type Bound = readonly [name: keyof OidcSettings & string, text: string, min: number, max: number]

const bounds: readonly Bound[] = [
  ["accessTokenLifetime", "access_token_lifetime", second, signedLifetimeMax],
  ["idTokenLifetime", "id_token_lifetime", second, signedLifetimeMax],
  ["refreshTokenIdleExpiration", "refresh_token_idle_expiration", second, 3650 * day],
  ["refreshTokenExpiration", "refresh_token_expiration", second, 3650 * day],
  ["refreshTokenGrace", "refresh_token_grace", 0, minute],
]

/** Throws unless a lifetime is an integer number of seconds within its bounds. */
export function validateSeconds(field: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw invalidSettingError(`${field} must be an integer from ${min} to ${max} seconds`)
}

/** Throws for inconsistent lifetimes, of the instance or of an application. */
export function validateLifetimes(settings: Partial<OidcSettings>): void {
  for (const [name, text, min, max] of bounds) {
    const value = settings[name]
    if (typeof value === "number") validateSeconds(text, value, min, max)
  }
  const { refreshTokenIdleExpiration: idle, refreshTokenExpiration: absolute } = settings
  if (idle !== undefined && absolute !== undefined && idle > absolute) {
    throw invalidSettingError(
      "refresh_token_idle_expiration must not be more than refresh_token_expiration",
    )
  }
}

function validateOidcSettings(
  cx: DecisionContext,
  settings: OidcSettings,
  { isSigning }: SettingsInput,
): void {
  validateLifetimes(settings)
  const { periodSeconds, aheadSeconds } = settings.keyRotation
  validateSeconds("key_rotation.period", periodSeconds, day, 3650 * day)
  validateSeconds("key_rotation.publish_ahead", aheadSeconds, 10 * minute, 90 * day)
  if (aheadSeconds > periodSeconds / 2) {
    throw invalidSettingError(
      "key_rotation.publish_ahead must not be more than half of key_rotation.period",
    )
  }
  for (const algorithm of [settings.idTokenAlgorithm, settings.accessTokenAlgorithm]) {
    if (!isSigning(cx, algorithm)) throw noKeyError(algorithm)
  }
}

const applicationsMax = 100_000

/** A project that was deleted in the meantime must not prevent other changes. */
function validateRegistration(
  cx: DecisionContext,
  before: ClientRegistration,
  input: SettingsInput,
): void {
  const requirement = input.settings.registration ?? before
  if (JSON.stringify(requirement) === JSON.stringify(before)) return
  validateSeconds("client_registration.lifetime", requirement.lifetimeSeconds, day, 3650 * day)
  const count = requirement.applicationsMax
  if (!Number.isInteger(count) || count < 1 || count > applicationsMax) {
    throw invalidSettingError(
      `client_registration.applications_max must be from 1 to ${applicationsMax}`,
    )
  }
  const { consentLifetimeSeconds: consent = 0 } = requirement
  validateSeconds("client_registration.consent_lifetime", consent, 0, 365 * day)
  if (isRegistrationOff(requirement) || input.isRegistrable?.(cx, requirement.projectId)) return
  throw new Fault(
    "failed_precondition",
    "instance.registration_project_missing",
    "client_registration.project_id must be an active project other than that of the " +
      "console; create a project for applications that register themselves",
  )
}

/** The fault for an algorithm without a signing key. */
export const noKeyError = (algorithm: string): Fault =>
  new Fault(
    "failed_precondition",
    "web_key.none_active",
    `no web key signs with ${JSON.stringify(algorithm)}; create and activate one first`,
  )

function validateOrigin(text: string): void {
  if (URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text)) return
  throw invalidSettingError("allowed_origins must be origins such as https://app.example.com")
}

function requireActive(status: string): void {
  if (status === "active") return
  throw new Fault("failed_precondition", "instance.not_set_up", "no instance is set up yet")
}

const invalidSettingError = (requirement: string) =>
  new Fault("invalid_argument", "instance.setting_invalid", requirement)

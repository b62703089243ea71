import { findClient } from "../../domain/app/index.ts"
import { type OidcSettings, requireInstance } from "../../domain/instance/index.ts"
import { type Algorithm, algorithms } from "../../domain/key/index.ts"
import { type Cx, cached } from "../../store/index.ts"

/** How long what is issued counts, in seconds. */
export type Lifetimes = {
  readonly access: number
  readonly id: number
  /** A refresh token that nobody uses this long is worth nothing. */
  readonly refreshIdle: number
  /** However often it is used. */
  readonly refreshAbsolute: number
  /** How long the refresh token before the newest is still answered. */
  readonly refreshGrace: number
}

/** The algorithms that sign for a client. */
export type SigningAlgs = { readonly idToken: Algorithm; readonly accessToken: Algorithm }

/** The lifetimes that hold for a client of this instance. */
export function lifetimesOf(cx: Cx, clientId: string): Lifetimes {
  const settings = settingsFor(cx, clientId)
  return {
    access: settings.accessTokenLifetime,
    id: settings.idTokenLifetime,
    refreshIdle: settings.refreshTokenIdleExpiration,
    refreshAbsolute: settings.refreshTokenExpiration,
    refreshGrace: settings.refreshTokenGrace,
  }
}

/** What the tokens of a client of this instance are signed with; a key of each is active. */
export function signingAlgs(cx: Cx, clientId: string): SigningAlgs {
  const { idTokenAlgorithm, accessTokenAlgorithm } = settingsFor(cx, clientId)
  return { idToken: named(idTokenAlgorithm), accessToken: named(accessTokenAlgorithm) }
}

/** What an application says, and what the instance says of everything else. */
function settingsFor(cx: Cx, clientId: string): OidcSettings {
  const known = answers(cx)
  const settings = known.get(clientId) ?? { ...requireInstance(cx).oidc, ...issuerOf(cx, clientId) }
  if (known.size < answersMax) known.set(clientId, settings)
  return settings
}

const answers = cached(() => new Map<string, OidcSettings>(), ["instance", "app"])
const answersMax = 2000

function issuerOf(cx: Cx, clientId: string): Partial<OidcSettings> {
  const state = findClient(cx, clientId)?.state
  return state?.kind === "oidc" ? (state.oidc.tokens ?? {}) : {}
}

/** Settings are refused unless a key signs with what they name. */
function named(name: string): Algorithm {
  const algorithm = algorithms.find((each) => each === name)
  if (!algorithm) throw new Error(`${name} is no algorithm that we sign with`)
  return algorithm
}

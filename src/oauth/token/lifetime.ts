import { findClient, orgOidcFor, type TokenConfig } from "../../domain/app/index.ts"
import { type OidcSettings, requireInstance } from "../../domain/instance/index.ts"
import { type AccessTokenJwtType, type Algorithm, algorithms } from "../../domain/key/index.ts"
import { user } from "../../domain/user-model/index.ts"
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

/** How a JWT access token is signed, and the `typ` of its header. */
export type AccessTokenFormat = { readonly typ: AccessTokenJwtType; readonly algorithm: Algorithm }

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

/** What the id_tokens of a client of this instance are signed with; a key of it is active. */
export const idTokenAlgorithm = (cx: Cx, clientId: string): Algorithm =>
  named(settingsFor(cx, clientId).idTokenAlgorithm)

/**
 * The format of an access token: as its application states, or the service account that gets it
 * without an application, else as the instance states.
 */
export function accessTokenFormat(
  cx: Cx,
  { clientId, userId }: { readonly clientId: string; readonly userId: string },
): AccessTokenFormat {
  const { accessTokenAlgorithm: algorithm, accessTokenJwtType: typ = "at+jwt" } = settingsFor(
    cx,
    clientId,
  )
  const state = findClient(cx, clientId) ? undefined : cx.store.state(cx, user, userId)
  const machine = state && "kind" in state && state.kind === "machine" ? state : undefined
  return { typ: machine?.jwtType ?? typ, algorithm: named(machine?.jwtAlgorithm ?? algorithm) }
}

/** What the application states, else its organization, else the instance. */
function settingsFor(cx: Cx, clientId: string): Settings {
  const known = answers(cx)
  const settings = known.get(clientId) ?? {
    ...requireInstance(cx).oidc,
    ...statedFor(cx, clientId),
  }
  if (known.size < answersMax) known.set(clientId, settings)
  return settings
}

const answers = cached(() => new Map<string, Settings>(), ["instance", "org", "project", "app"])
const answersMax = 2000

type Settings = OidcSettings & TokenConfig

function statedFor(cx: Cx, clientId: string): TokenConfig {
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") return {}
  const { pkceRequired: _, ...rotation } = orgOidcFor(cx, state)
  return { ...rotation, ...state.oidc.tokens }
}

/** Settings are refused unless a key signs with what they name. */
function named(name: string): Algorithm {
  const algorithm = algorithms.find((each) => each === name)
  if (!algorithm) throw new Error(`${name} is no algorithm that we sign with`)
  return algorithm
}

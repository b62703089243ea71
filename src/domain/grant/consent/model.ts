import { aggregate, type Event } from "../../../store/index.ts"
import { signedLifetimeMax } from "../../instance/index.ts"
import type { Voucher } from "../../session/index.ts"
import type { RequestedClaims } from "../request.ts"

/** What a user allowed an application that registered itself, at one redirect URI. */
type Consent = {
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  /** Projects of others that the user allowed by name. */
  readonly projects: readonly string[]
  /**
   * Client IDs of the APIs that the user allowed by name: alone, and with a space and a scope of
   * theirs; absent where there were none.
   */
  readonly apis?: readonly string[]
  readonly claims?: RequestedClaims
  /** As `signInVersion` was for the user; every other one ends the consent. */
  readonly signInVersion: number
  /** The provider that the sign-in depended on alone; once it may not vouch, the consent ends. */
  readonly voucher?: Voucher
  /** As `Registration.identity` was; every other one ends the consent. */
  readonly identity: number
}

type Pair = { readonly userId: string; readonly appId: string }

export type ConsentEvent =
  | Event<"application.consent.added", Pair & Consent & { readonly lifetimeSeconds: number }>
  | Event<
      "application.consent.removed",
      Pair & {
        /** Tells this withdrawal from every other. */
        readonly withdrawalId: string
        readonly reason: string
      }
    >

/** Times are ms UTC. */
export type RememberedConsent = Consent & { readonly given: number; readonly expires: number }

export type ApplicationConsents = {
  /** The newest last; some may no longer be valid. */
  readonly remembered: readonly RememberedConsent[]
  /** The last withdrawal; empty before the first. */
  readonly withdrawalId: string
  /** When that was, ms UTC; 0 before the first. */
  readonly withdrawn: number
}

/** What is compared of a consent and of a request. */
export type ConsentScope = Pick<
  Consent,
  "redirectUri" | "scopes" | "audience" | "projects" | "apis" | "claims"
>

/** Whether a consent allows at least what is requested. */
export const covers = (given: ConsentScope, requested: ConsentScope): boolean =>
  given.redirectUri === requested.redirectUri &&
  isWithin(requested.scopes, given.scopes) &&
  isWithin(requested.audience, given.audience) &&
  isWithin(requested.projects, given.projects) &&
  isWithin(requested.apis, given.apis) &&
  isWithin(requested.claims?.idToken, given.claims?.idToken) &&
  isWithin(requested.claims?.userinfo, given.claims?.userinfo)

const isWithin = (part: readonly string[] = [], whole: readonly string[] = []): boolean =>
  part.every((each) => whole.includes(each))

/** One for each combination of redirect URI and resource that a client uses. */
const rememberedMax = 20

const hour = 3_600_000

/** What a user allowed one application: each pair of both is a stream. */
export const applicationConsents = aggregate<ConsentEvent, ApplicationConsents>({
  stream: "app_consent",
  retention: "transient",
  // Nothing that was issued before a withdrawal is valid for longer. An hour for wrong clocks.
  expires: ({ remembered, withdrawn }) =>
    Math.max(withdrawn + signedLifetimeMax * 1000, ...remembered.map(({ expires }) => expires)) +
    hour,
  initial: { remembered: [], withdrawalId: "", withdrawn: 0 },
  evolve: {
    "application.consent.added": (state, { data, time }) => {
      const { userId: _user, appId: _app, lifetimeSeconds, ...consent } = data
      const { identity, signInVersion } = consent
      const kept = state.remembered.filter(
        (each) =>
          each.identity === identity &&
          each.signInVersion === signInVersion &&
          time < each.expires &&
          !covers(consent, each),
      )
      const added = { ...consent, given: time, expires: time + lifetimeSeconds * 1000 }
      return { ...state, remembered: [...kept, added].slice(-rememberedMax) }
    },
    "application.consent.removed": (_, { data: { withdrawalId }, time }) => ({
      remembered: [],
      withdrawalId,
      withdrawn: time,
    }),
  },
})

/** The stream of what a user allowed an application. */
export const consentsId = (userId: string, appId: string): string => `${userId}/${appId}`

import { aggregate, type Event } from "../../../store/index.ts"
import { signedLifetimeMax } from "../../instance/index.ts"
import type { Voucher } from "../../session/index.ts"
import type { RequestedClaims } from "../request.ts"

/** The consent of a user to an application that registered itself, for one redirect URI. */
type Consent = {
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
  /** Projects of other organizations that the user allowed explicitly. */
  readonly projects: readonly string[]
  /**
   * APIs that the user allowed explicitly, as client IDs, alone or followed by a space and one of
   * their scopes; absent if there were none.
   */
  readonly apis?: readonly string[]
  readonly claims?: RequestedClaims
  /** The user's `signInVersion` at the time; the consent is valid only while it is unchanged. */
  readonly signInVersion: number
  /**
   * The only identity provider that the sign-in relied on; when it can no longer vouch for the
   * user, the consent ends.
   */
  readonly voucher?: Voucher
  /** `Registration.identity` at the time; the consent is valid only while it is unchanged. */
  readonly identity: number
}

type ConsentParties = { readonly userId: string; readonly appId: string }

export type ConsentEvent =
  | Event<
      "application.consent.added",
      ConsentParties & Consent & { readonly lifetimeSeconds: number }
    >
  | Event<
      "application.consent.removed",
      ConsentParties & {
        /** Identifies this withdrawal. */
        readonly withdrawalId: string
        readonly reason: string
      }
    >

/** Times are ms UTC. */
export type RememberedConsent = Consent & { readonly given: number; readonly expires: number }

export type ApplicationConsents = {
  /** Newest last; some may no longer be valid. */
  readonly remembered: readonly RememberedConsent[]
  /** The last withdrawal; empty if there was none. */
  readonly withdrawalId: string
  /** Time of the last withdrawal, ms UTC; 0 if there was none. */
  readonly withdrawn: number
}

/** The parts of a consent that are compared with a request. */
export type ConsentScope = Pick<
  Consent,
  "redirectUri" | "scopes" | "audience" | "projects" | "apis" | "claims"
>

/** Whether a consent covers at least what is requested. */
export const coversRequest = (granted: ConsentScope, requested: ConsentScope): boolean =>
  granted.redirectUri === requested.redirectUri &&
  isWithin(requested.scopes, granted.scopes) &&
  isWithin(requested.audience, granted.audience) &&
  isWithin(requested.projects, granted.projects) &&
  isWithin(requested.apis, granted.apis) &&
  isWithin(requested.claims?.idToken, granted.claims?.idToken) &&
  isWithin(requested.claims?.userinfo, granted.claims?.userinfo)

const isWithin = (part: readonly string[] = [], whole: readonly string[] = []): boolean =>
  part.every((each) => whole.includes(each))

/** A client has one for each combination of redirect URI and resource that it uses. */
const rememberedMax = 20

const hourMs = 3_600_000

/** The consents of a user to one application; each pair has its own stream. */
export const applicationConsents = aggregate<ConsentEvent, ApplicationConsents>({
  stream: "app_consent",
  retention: "transient",
  // Nothing issued before a withdrawal is valid for longer, plus an hour for clock skew.
  expires: ({ remembered, withdrawn }) =>
    Math.max(withdrawn + signedLifetimeMax * 1000, ...remembered.map(({ expires }) => expires)) +
    hourMs,
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
          !coversRequest(consent, each),
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

/** The stream ID of a user's consents to an application. */
export const consentsId = (userId: string, appId: string): string => `${userId}/${appId}`

import { aggregate, type Event } from "../../store/index.ts"

/** What a sign-up link is created with. */
export type LinkTerms = {
  readonly orgId: string
  /** How many accounts can be created with it. */
  readonly useLimit: number
  /** When it stops working, ms UTC. */
  readonly expires: number
  /** The domains of the email addresses that it accepts, in lower-case ASCII; empty for all. */
  readonly domains: readonly string[]
}

export type SignUpLinkEvent =
  | Event<"sign_up_link.added", LinkTerms, { readonly hashed: string }>
  | Event<"sign_up_link.used", { readonly userId: string }>
  | Event<"sign_up_link.revoked">

export type SignUpLink = LinkTerms & {
  readonly status: "absent" | "active" | "revoked"
  readonly uses: number
  /** The keyed hash of its secret; empty once it is revoked. */
  readonly hashed: string
}

const absent: SignUpLink = {
  status: "absent",
  ...{ orgId: "", useLimit: 0, expires: 0, domains: [], uses: 0, hashed: "" },
}

/** A link with which people create their own accounts in an organization. */
export const signUpLink = aggregate<SignUpLinkEvent, SignUpLink>({
  stream: "sign_up_link",
  initial: absent,
  evolve: {
    "sign_up_link.added": (_, { data, private: secret }) => ({
      ...data,
      status: "active",
      uses: 0,
      hashed: secret?.hashed ?? "",
    }),
    "sign_up_link.used": (state) => ({ ...state, uses: state.uses + 1 }),
    "sign_up_link.revoked": (state) => ({ ...state, status: "revoked", hashed: "" }),
  },
})

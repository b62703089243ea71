// Maps fault IDs to texts of the login pages. Other faults are shown beside the field that the page
// assigns them to, or on the error page for their code (`faultPages` in `login/page.ts`).

export type PasswordText =
  | `password_change.error.${"simple" | "name" | "same" | "long" | "common" | "reused"}`
  | "password.error.busy"

/** Texts beside a new password. */
export const passwordText: Readonly<Record<string, PasswordText>> = {
  "user.password_too_simple": "password_change.error.simple",
  "user.password_is_name": "password_change.error.name",
  "user.password_common": "password_change.error.common",
  "user.password_reused": "password_change.error.reused",
  "user.password_unchanged": "password_change.error.same",
  "password.too_long": "password_change.error.long",
  "password.busy": "password.error.busy",
}

export type ProviderProblem = "provider_cancelled" | "provider_down" | "provider_refused"

/** The error page for a failed sign-in with an identity provider. */
export const providerText: Readonly<Record<string, ProviderProblem>> = {
  "idp.cancelled": "provider_cancelled",
  "idp.unreachable": "provider_down",
  "idp.answer_refused": "provider_refused",
  "idp.claims_missing": "provider_refused",
}

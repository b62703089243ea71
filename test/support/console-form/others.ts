/**
 * The forms of the console in which two administrators can't contradict each other: they make
 * something new, only do something, or replace a secret, which nobody can read.
 */
export const otherForms: Readonly<Record<string, "creates" | "acts" | "replaces a secret">> = {
  "account/add-key.tsx 1": "creates",
  "account/contact.tsx 2": "acts",
  "account/password.tsx 1": "replaces a secret",
  "account/authenticator-app.tsx 1": "creates",
  "application/new-application-page.tsx 1": "creates",
  "application/secrets.tsx 1": "creates",
  "application/test-sign-in.tsx 1": "acts",
  "form/confirm.tsx 1": "acts",
  "group/group-page.tsx 1": "creates",
  "idp/provider-test.tsx 1": "acts",
  "instance/signing-keys-page.tsx 1": "creates",
  "list/credentials.tsx 1": "creates",
  "organization/domains.tsx 1": "creates",
  "organization/sign-up-links.tsx 1": "creates",
  "organization/organizations-page.tsx 1": "creates",
  "organization/domain-validation.tsx 1": "acts",
  "project/projects-page.tsx 1": "creates",
  "provider/provider.ts 1": "replaces a secret",
  "provider/test-mail.tsx 1": "acts",
  "script/scripts-page.tsx 1": "creates",
  "script/try-script.tsx 1": "acts",
  "target/public-keys.tsx 1": "creates",
  "target/target-page.tsx 1": "replaces a secret",
  "user/new-user-page.tsx 1": "creates",
  "user/password.tsx 1": "replaces a secret",
}

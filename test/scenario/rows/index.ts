// The rows by family; each family is run by one of the tests in the parent directory.
import { accessRows } from "./access.ts"
import { actionRows } from "./action.ts"
import { applicationRows } from "./application.ts"
import { assetRows } from "./asset.ts"
import { factorRows } from "./factor.ts"
import { historyRows } from "./history.ts"
import { idpRows } from "./idp.ts"
import { instanceRows } from "./instance.ts"
import { messageRows } from "./message.ts"
import { messageProviderRows } from "./message-provider.ts"
import { oidcRows } from "./oidc.ts"
import { managementV1Rows } from "./older.ts"
import { organizationRows } from "./organization.ts"
import { policyRows } from "./policy.ts"
import { projectRows } from "./project.ts"
import { samlRows } from "./saml.ts"
import { selfRows } from "./self.ts"
import { signUpRows } from "./sign-up.ts"
import { systemRows } from "./system.ts"
import { targetRows } from "./target.ts"
import { textRows } from "./text.ts"
import { userRows } from "./user.ts"

export const rows = {
  access: accessRows,
  action: actionRows,
  application: applicationRows,
  asset: assetRows,
  history: historyRows,
  idp: idpRows,
  instance: instanceRows,
  oidc: oidcRows,
  older: managementV1Rows,
  organization: organizationRows,
  message: messageRows,
  messageProvider: messageProviderRows,
  policy: policyRows,
  project: projectRows,
  saml: samlRows,
  factor: factorRows,
  self: selfRows,
  signUp: signUpRows,
  system: systemRows,
  target: targetRows,
  text: textRows,
  user: userRows,
}

export type Family = keyof typeof rows

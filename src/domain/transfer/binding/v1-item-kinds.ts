import { rankOf } from "../../../protocol/transfer/order.ts"
import { actionRow, triggerRow } from "./v1-action.ts"
import { apiRow, appKeyRow, oidcRow } from "./v1-app.ts"
import { jwtIdpRow, oidcIdpRow } from "./v1-idp.ts"
import type { ItemKind } from "./v1-item-kind.ts"
import { domainRow, oidcSettingsRow, orgRow, stateRow } from "./v1-org.ts"
import { domainPolicyRow, loginPolicyRow, policyRows } from "./v1-policy.ts"
import {
  grantMemberRow,
  grantRow,
  orgMemberRow,
  projectMemberRow,
  projectRow,
  roleRow,
  userGrantRow,
} from "./v1-project.ts"
import { textRows } from "./v1-text.ts"
import { humanRow, linkRow, machineKeyRow, machineRow, metadataRow } from "./v1-user.ts"

const unsortedKinds: readonly ItemKind[] = [
  orgRow,
  stateRow,
  domainPolicyRow,
  domainRow,
  oidcSettingsRow,
  ...policyRows,
  oidcIdpRow,
  jwtIdpRow,
  loginPolicyRow,
  ...textRows,
  actionRow,
  triggerRow,
  projectRow,
  roleRow,
  apiRow,
  oidcRow,
  appKeyRow,
  humanRow,
  machineRow,
  machineKeyRow,
  metadataRow,
  linkRow,
  grantRow,
  userGrantRow,
  orgMemberRow,
  projectMemberRow,
  grantMemberRow,
]

/** All kinds of items in dependency order, which programs that split exports rely on. */
export const itemKinds = unsortedKinds.toSorted((a, b) => rankOf(a.field) - rankOf(b.field))

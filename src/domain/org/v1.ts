import { share } from "../../api/method.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { OrgState } from "../../gen/core/org/v1/org_pb.ts"
import { details } from "../../kernel/answer.ts"
import type { Cx } from "../../store/index.ts"
import { contextOrg } from "./context.ts"
import { findOrg, type OrgRow } from "./view.ts"

export const management = share<Cx>()(ManagementService, {
  getMyOrg: (_, cx) => ({ org: toOrg(findOrg(cx, contextOrg(cx))) }),
})

const toOrg = (row: OrgRow) => ({
  id: row.id,
  details: details({ ...row, owner: row.id }),
  state: row.state === "active" ? OrgState.ACTIVE : OrgState.INACTIVE,
  name: row.name,
  primaryDomain: row.domain,
})

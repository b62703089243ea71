import { create, fromJson, toJson } from "@bufbuild/protobuf"
import { type DataOrg, DataOrgSchema } from "../../../gen/core/admin/v1/data_pb.ts"
import { AddCustomDomainPolicyRequestSchema } from "../../../gen/core/admin/v1/policy_pb.ts"
import {
  AddCustomLoginPolicyRequest_IDPSchema,
  AddCustomLoginPolicyRequestSchema,
} from "../../../gen/core/management/v1/policy_pb.ts"
import {
  type DataOrg as Older,
  DataOrgSchema as OlderSchema,
} from "../../../gen/core/v1/v1/data_pb.ts"

/**
 * An organisation of the older form in the present one: the fields of the same name are the same,
 * what it says of a login policy beside it belongs there, and its first policy is another now.
 */
export function presentOf(older: Older): DataOrg {
  const json = toJson(OlderSchema, older)
  const org = fromJson(DataOrgSchema, json, { ignoreUnknownFields: true })
  const { orgId, iamPolicy, secondFactors, multiFactors, idps } = older
  if (iamPolicy) {
    const { userLoginMustBeDomain } = iamPolicy
    const said = { orgId, userLoginMustBeDomain }
    org.domainPolicy = create(AddCustomDomainPolicyRequestSchema, said)
  }
  if (secondFactors.length + multiFactors.length + idps.length > 0) {
    org.loginPolicy ??= create(AddCustomLoginPolicyRequestSchema)
    org.loginPolicy.secondFactors.push(...secondFactors.map(({ type }) => type))
    org.loginPolicy.multiFactors.push(...multiFactors.map(({ type }) => type))
    org.loginPolicy.idps.push(
      ...idps.map(({ idpId, ownerType }) =>
        create(AddCustomLoginPolicyRequest_IDPSchema, { idpId, ownerType }),
      ),
    )
  }
  return org
}

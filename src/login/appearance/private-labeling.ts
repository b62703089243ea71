import { type ApplicationReference, findReferencedApplication } from "../../domain/app/index.ts"
import type { AuthorizationRequest } from "../../domain/grant/index.ts"
import { project } from "../../domain/project/index.ts"
import { findHomeOrg } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

type LabelingRequest = ApplicationReference & Pick<AuthorizationRequest, "home">

/**
 * The organization whose branding a request always has, for every user: the only organization
 * whose users can sign in, or the one that owns the project, if the project enforces it. Does not
 * apply to messages: administrators who edit message texts could otherwise have codes of other
 * users sent to themselves.
 */
function enforcedBrandingOrg(cx: Cx, request: LabelingRequest | undefined): string | undefined {
  if (request?.home !== undefined) return request.home
  const { setting, owner } = labelingOf(cx, request)
  return setting === "project_owner" ? owner : undefined
}

/**
 * The organization whose branding the pages of a request have; undefined for the default. `userId`
 * is the authenticated user: branding for a merely entered name would reveal whether the account
 * exists.
 */
export function brandingOrgOf(
  cx: Cx,
  request: LabelingRequest | undefined,
  userId = "",
): string | undefined {
  const enforced = enforcedBrandingOrg(cx, request)
  if (enforced !== undefined) return enforced
  const { setting, owner } = labelingOf(cx, request)
  if (setting !== "login_user") return undefined
  return (userId && findHomeOrg(cx, userId)) || owner
}

/** The private labeling setting of the application's project, and the project's owner. */
function labelingOf(cx: Cx, request: LabelingRequest | undefined) {
  const projectId = request && findReferencedApplication(cx, request)?.projectId
  const { orgId, privateLabelingSetting } = cx.store.state(cx, project, projectId ?? "")
  return { setting: privateLabelingSetting, owner: orgId }
}

import { type AskedFor, applicationAskedFor } from "../../domain/app/index.ts"
import type { Requested } from "../../domain/grant/index.ts"
import { project } from "../../domain/project/index.ts"
import { homeOf } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

type Asked = AskedFor & Pick<Requested, "home">

/**
 * Whose look a request has, whoever signs in: that of the organisation whose people alone are asked
 * for, or of the one whose project it is for, where the project enforces that. Never its mails:
 * whoever words those could have the codes of other people's sent to themself.
 */
function enforcedLook(cx: Cx, asked: Asked | undefined): string | undefined {
  if (asked?.home !== undefined) return asked.home
  const { setting, owner } = labellingOf(cx, asked)
  return setting === "project_owner" ? owner : undefined
}

/**
 * The organisation whose look the pages of a request have; undefined: what all pages have. `userId`
 * is who has shown who they are: the look of whose name was only typed would tell who is here.
 */
export function lookOrgOf(cx: Cx, asked: Asked | undefined, userId = ""): string | undefined {
  const enforced = enforcedLook(cx, asked)
  if (enforced !== undefined) return enforced
  const { setting, owner } = labellingOf(cx, asked)
  if (setting !== "login_user") return undefined
  return (userId && homeOf(cx, userId)) || owner
}

/** What the project of an application says of it, and whose the project is. */
function labellingOf(cx: Cx, asked: Asked | undefined) {
  const projectId = asked && applicationAskedFor(cx, asked)?.projectId
  const { orgId, privateLabelingSetting } = cx.store.state(cx, project, projectId ?? "")
  return { setting: privateLabelingSetting, owner: orgId }
}

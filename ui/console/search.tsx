import { useState } from "react"
import { TextFilterMethod } from "../../src/gen/core/filter/v2/filter_pb.ts"
import { TextQueryMethod } from "../../src/gen/core/object/v2/object_pb.ts"
import type { Project } from "../../src/gen/core/project/v2/project_pb.ts"
import { Modal } from "../kit/dialog.tsx"
import { TextField } from "../kit/field.tsx"
import { type Core, unlessDenied } from "./core.ts"
import { useHouse } from "./house.ts"
import { Link } from "./link.tsx"
import { useLoad, useRested } from "./load.ts"
import { go, type Route } from "./route.ts"
import { nameOf } from "./user.ts"

type Hit = {
  readonly id: string
  readonly name: string
  readonly kind: "project" | "application" | "user" | "refused"
  readonly to: Route
}

const method = TextFilterMethod.CONTAINS_IGNORE_CASE

/** Finds projects, applications and users by name, from anywhere in the console. */
export function Search({ onClose }: { readonly onClose: () => void }) {
  const { t, core } = useHouse()
  const [text, setText] = useState("")
  const wanted = useRested(text.trim(), 150)
  const found = useLoad("search", wanted, (signal) => hitsOf(core, wanted, signal))
  const hits = found.status === "ready" ? found.value : []
  return (
    <Modal className="search" label={t("search.label")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const [first] = hits
          if (!first) return
          go(first.to)
          onClose()
        }}
      >
        <TextField
          label={t("search.label")}
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoComplete="off"
          enterKeyHint="go"
          maxLength={200}
          autoFocus
        />
      </form>
      {found.status === "failed" && <p className="search-note">{found.message}</p>}
      {found.status === "ready" && wanted !== "" && hits.length === 0 && (
        <p className="search-note">{t("search.nothing", { text: wanted })}</p>
      )}
      {hits.length > 0 && (
        <ul className="search-list">
          {hits.map((hit) => (
            <li key={hit.id}>
              <Link to={hit.to} className="search-hit" onFollow={onClose}>
                {hit.name}
                <span className="badge">{t(`search.${hit.kind}`)}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Modal>
  )
}

async function hitsOf(core: Core, text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (text === "") return []
  const groups = await Promise.all([
    refusedHits(core, text, signal),
    unlessDenied(projectHits(core, text, signal), []),
    unlessDenied(applicationHits(core, text, signal), []),
    unlessDenied(userHits(core, text, signal), []),
  ])
  return groups.flat()
}

/** People are given the number of their refused request, and paste it where they can. */
async function refusedHits(core: Core, text: string, signal: AbortSignal): Promise<Hit[]> {
  if (!/^\d{15,20}$/.test(text)) return []
  const reading = core.diagnosis.listRefusedRequests({ requestId: text }, { signal })
  const found = await unlessDenied(reading, undefined)
  return (found?.refusedRequests ?? []).map(({ requestId, applicationName }) => {
    const to: Route = { page: "refused-requests", requestId }
    return { id: requestId, name: applicationName || requestId, kind: "refused", to }
  })
}

const isOwn = ({ grantedOrganizationId }: Project) => grantedOrganizationId === undefined

async function projectHits(core: Core, text: string, signal: AbortSignal): Promise<Hit[]> {
  const filter = { case: "projectNameFilter", value: { projectName: text, method } } as const
  const request = { pagination: { limit: 5 }, filters: [{ filter }] }
  const { projects } = await core.projects.listProjects(request, { signal })
  // A project is listed once for each organisation that has it; its own says most about it.
  const own = new Set(projects.filter(isOwn).map(({ projectId }) => projectId))
  const shown = projects.filter((project) => isOwn(project) || !own.has(project.projectId))
  const hits = shown.map((project): Hit => {
    const { projectId, name } = project
    const page = isOwn(project) ? "project" : "granted-project"
    return { id: projectId, name, kind: "project", to: { page, projectId } }
  })
  return [...new Map(hits.map((hit) => [hit.id, hit])).values()]
}

async function applicationHits(core: Core, text: string, signal: AbortSignal): Promise<Hit[]> {
  const filter = { case: "nameFilter", value: { name: text, method } } as const
  const request = { pagination: { limit: 5 }, filters: [{ filter }] }
  const { applications } = await core.applications.listApplications(request, { signal })
  return applications.map(({ applicationId, name }) => {
    const to: Route = { page: "application", applicationId }
    return { id: applicationId, name, kind: "application", to }
  })
}

async function userHits(core: Core, text: string, signal: AbortSignal): Promise<Hit[]> {
  const request = { query: { limit: 5 }, queries: [namedLike(text)] }
  const { result } = await core.users.listUsers(request, { signal })
  return result.map((user) => {
    const to: Route = { page: "user", userId: user.userId }
    return { id: user.userId, name: nameOf(user), kind: "user", to }
  })
}

/** Users by any of the names they are known under. */
export function namedLike(text: string) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  const queries = [
    { query: { case: "displayNameQuery", value: { displayName: text, method } } as const },
    { query: { case: "loginNameQuery", value: { loginName: text, method } } as const },
    { query: { case: "emailQuery", value: { emailAddress: text, method } } as const },
  ]
  return { query: { case: "orQuery", value: { queries } } } as const
}

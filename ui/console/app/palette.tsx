import { createQueryOptions } from "@connectrpc/connect-query"
import { useQueries } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import type { Project } from "../../../src/gen/core/project/v2/project_pb.ts"
import { ProjectService } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Modal, TextField } from "../../kit/index.ts"
import { SearchForm } from "../form/search-form.tsx"
import { useDebounced } from "../shell/call.ts"
import { Link, type LinkOptions } from "../shell/link.tsx"
import { useCanReadInstance, useOrganization } from "../shell/organization.tsx"
import { usePermissions } from "../shell/permissions.ts"
import { isDenied, refusalOf } from "../shell/refusal.ts"
import { RefusalAlert } from "../shell/refusal-alert.tsx"
import { t } from "../shell/text.ts"
import { transport } from "../shell/transport.ts"
import { displayNameOf } from "../user/user.ts"
import { nameQueries } from "../user/user-query.ts"
import { hasPermission } from "./destinations.ts"
import { destinations } from "./palette-entries.ts"

type SearchHit = {
  readonly id: string
  readonly name: string
  readonly kind: "page" | "project" | "application" | "user" | "refused"
  readonly link: LinkOptions
}

const method = TextFilterMethod.CONTAINS_IGNORE_CASE
const hitsMax = 5

/** Finds pages, actions, projects, applications and users by name, from any page. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const query = useDebounced(text.trim(), 150)
  const { hits: found, isOver: isComplete, refusal } = useSearchHits(query)
  const hits = [...destinationHits(text.trim(), useDestinations()), ...found]
  const open = () => {
    const [first] = hits
    if (!first) return
    void navigate(first.link)
    onClose()
  }
  return (
    <Modal className="search" label={t("search.label")} onClose={onClose}>
      <SearchForm onSearch={open}>
        <TextField
          label={t("search.label")}
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoComplete="off"
          enterKeyHint="go"
          maxLength={200}
          autoFocus
        />
      </SearchForm>
      <RefusalAlert refusal={refusal} />
      {isComplete && query !== "" && hits.length === 0 && (
        <p className="search-note">{t("search.nothing", { text: query })}</p>
      )}
      {hits.length > 0 && (
        <ul className="search-list">
          {hits.map((hit) => (
            <li key={`${hit.kind} ${hit.id}`}>
              <Link {...hit.link} className="search-hit" onClick={onClose}>
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

/** Pages and actions that the caller can access. */
function useDestinations(): typeof destinations {
  const permissions = usePermissions(useOrganization().id)
  const seesInstance = useCanReadInstance()
  return destinations.filter(({ needs }) =>
    needs === "instance" ? seesInstance : hasPermission(permissions, needs),
  )
}

/** Pages and actions whose names contain the words. */
function destinationHits(text: string, seen: typeof destinations): readonly SearchHit[] {
  const search = text.toLowerCase()
  if (search === "") return []
  return seen.flatMap(({ key, link }) => {
    const name = t(key)
    return name.toLowerCase().includes(search)
      ? [{ id: key, name, kind: "page", link } as const]
      : []
  })
}

/** Search results of the server, limited to what the caller can see. */
function useSearchHits(text: string) {
  const enabled = text !== ""
  const named = { pagination: { limit: hitsMax }, filters: [] }
  const project = { case: "projectNameFilter", value: { projectName: text, method } } as const
  const application = { case: "nameFilter", value: { name: text, method } } as const
  const others = { case: "internalFilter", value: false } as const
  const options = { transport }
  const [projects, applications, users, refused] = useQueries({
    queries: [
      {
        ...createQueryOptions(
          ProjectService.method.listProjects,
          { ...named, filters: [{ filter: project }, { filter: others }] },
          options,
        ),
        enabled,
      },
      {
        ...createQueryOptions(
          ApplicationService.method.listApplications,
          { ...named, filters: [{ filter: application }, { filter: others }] },
          options,
        ),
        enabled,
      },
      {
        ...createQueryOptions(
          UserService.method.listUsers,
          { query: { limit: hitsMax }, queries: [nameQueries(text)] },
          options,
        ),
        enabled,
      },
      {
        // Users receive the ID of their rejected request, which administrators can paste here.
        ...createQueryOptions(
          DiagnosisService.method.listRefusedRequests,
          { requestId: text },
          options,
        ),
        enabled: /^\d{15,20}$/.test(text),
      },
    ],
  })
  const all = [refused, projects, applications, users]
  const failed = all.find(({ error }) => error && !isDenied(refusalOf(error)))?.error
  const hits: readonly SearchHit[] = [
    ...(refused.data?.refusedRequests ?? []).map(({ requestId, applicationName }) => {
      const link = { to: "/refused-requests/$requestId", params: { requestId } } as const
      return { id: requestId, name: applicationName || requestId, kind: "refused", link } as const
    }),
    ...projectHits(projects.data?.projects ?? []),
    ...(applications.data?.applications ?? []).map(({ applicationId, name }) => {
      const link = { to: "/applications/$applicationId", params: { applicationId } } as const
      return { id: applicationId, name, kind: "application", link } as const
    }),
    ...(users.data?.result ?? []).map((user) => {
      const link = { to: "/users/$userId", params: { userId: user.userId } } as const
      return { id: user.userId, name: displayNameOf(user), kind: "user", link } as const
    }),
  ]
  const isComplete = all.every(({ isFetching }) => !isFetching)
  return { hits, isOver: isComplete, refusal: failed ? refusalOf(failed) : undefined }
}

const isOwnProject = ({ grantedOrganizationId }: Project) => grantedOrganizationId === undefined

/** A project is listed once per organization that has it; keep the owner's entry. */
function projectHits(projects: readonly Project[]): readonly SearchHit[] {
  const own = new Set(projects.filter(isOwnProject).map(({ projectId }) => projectId))
  const shown = projects.filter((project) => isOwnProject(project) || !own.has(project.projectId))
  const hits = shown.map((project): SearchHit => {
    const { projectId, name } = project
    const to = isOwnProject(project) ? "/projects/$projectId" : "/granted-projects/$projectId"
    return { id: projectId, name, kind: "project", link: { to, params: { projectId } } }
  })
  return [...new Map(hits.map((hit) => [hit.id, hit])).values()]
}

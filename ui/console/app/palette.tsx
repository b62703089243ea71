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
import { useOrganization, useSeesInstance } from "../shell/organization.tsx"
import { usePermissions } from "../shell/permissions.ts"
import { isDenied, refusalOf } from "../shell/refusal.ts"
import { RefusalAlert } from "../shell/refusal-alert.tsx"
import { t } from "../shell/text.ts"
import { transport } from "../shell/transport.ts"
import { nameOf } from "../user/user.ts"
import { namedLike } from "../user/user-query.ts"
import { holds } from "./destinations.ts"
import { destinations } from "./palette-entries.ts"

type Hit = {
  readonly id: string
  readonly name: string
  readonly kind: "page" | "project" | "application" | "user" | "refused"
  readonly link: LinkOptions
}

const method = TextFilterMethod.CONTAINS_IGNORE_CASE
const few = 5

/** Finds pages, actions, projects, applications and users by name, from anywhere. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const wanted = useDebounced(text.trim(), 150)
  const { hits: found, isOver, refusal } = useHits(wanted)
  const hits = [...destinationHits(text.trim(), useDestinations()), ...found]
  const open = () => {
    const [first] = hits
    if (!first) return
    void navigate(first.link)
    onClose()
  }
  return (
    <Modal className="search" label={t("search.label")} onClose={onClose}>
      <SearchForm onAsk={open}>
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
      {isOver && wanted !== "" && hits.length === 0 && (
        <p className="search-note">{t("search.nothing", { text: wanted })}</p>
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

/** The pages and actions that one may open. */
function useDestinations(): typeof destinations {
  const held = usePermissions(useOrganization().id)
  const seesInstance = useSeesInstance()
  return destinations.filter(({ needs }) =>
    needs === "instance" ? seesInstance : holds(held, needs),
  )
}

/** Pages and actions whose name has the words. */
function destinationHits(text: string, seen: typeof destinations): readonly Hit[] {
  const words = text.toLowerCase()
  if (words === "") return []
  return seen.flatMap(({ key, link }) => {
    const name = t(key)
    return name.toLowerCase().includes(words)
      ? [{ id: key, name, kind: "page", link } as const]
      : []
  })
}

/** What the server has under this name; what one may not see is not there. */
function useHits(text: string) {
  const enabled = text !== ""
  const named = { pagination: { limit: few }, filters: [] }
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
          { query: { limit: few }, queries: [namedLike(text)] },
          options,
        ),
        enabled,
      },
      {
        // People are given the number of their refused request, and paste it where they can.
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
  const hits: readonly Hit[] = [
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
      return { id: user.userId, name: nameOf(user), kind: "user", link } as const
    }),
  ]
  const isOver = all.every(({ isFetching }) => !isFetching)
  return { hits, isOver, refusal: failed ? refusalOf(failed) : undefined }
}

const isOwn = ({ grantedOrganizationId }: Project) => grantedOrganizationId === undefined

/** A project is listed once for each organisation that has it; its own says most about it. */
function projectHits(projects: readonly Project[]): readonly Hit[] {
  const own = new Set(projects.filter(isOwn).map(({ projectId }) => projectId))
  const shown = projects.filter((project) => isOwn(project) || !own.has(project.projectId))
  const hits = shown.map((project): Hit => {
    const { projectId, name } = project
    const to = isOwn(project) ? "/projects/$projectId" : "/granted-projects/$projectId"
    return { id: projectId, name, kind: "project", link: { to, params: { projectId } } }
  })
  return [...new Map(hits.map((hit) => [hit.id, hit])).values()]
}

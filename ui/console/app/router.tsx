import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router"
import type { ComponentType } from "react"
import { ProjectsPage } from "../project/projects-page.tsx"
import { PageLoading } from "../shell/frame.tsx"
import { loadPageTexts } from "../shell/texts/index.ts"
import { Shell } from "./app.tsx"
import { Failed, FailedPage } from "./boundary.tsx"
import { PageNotFound } from "./not-found.tsx"

/** Search parameters of any path: the organization and the state of lists. */
export type SearchParams = {
  readonly org?: string | undefined
  readonly [list: string]: string | undefined
}

/** Keeps URLs readable, such as ?q=ada without quotes; values that are not text are dropped. */
function validateSearch(parameters: Record<string, unknown>): SearchParams {
  const texts = Object.entries(parameters).flatMap(([key, value]) =>
    typeof value === "string" && value !== "" ? [[key, value] as const] : [],
  )
  return Object.fromEntries(texts)
}

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: PageNotFound,
  errorComponent: Failed,
  validateSearch,
  search: { middlewares: [retainSearchParams(["org"])] },
})

const getParentRoute = () => rootRoute

/** Page files by name; their texts have the same names. */
const pageFiles = {
  "project-page": () => import("../project/project-page.tsx"),
  "new-application-page": () => import("../application/new-application-page.tsx"),
  "granted-project-page": () => import("../project/granted-project-page.tsx"),
  "applications-page": () => import("../application/applications-page.tsx"),
  "application-page": () => import("../application/application-page.tsx"),
  "users-page": () => import("../user/users-page.tsx"),
  "sign-ups-page": () => import("../user/sign-ups-page.tsx"),
  "new-user-page": () => import("../user/new-user-page.tsx"),
  "user-page": () => import("../user/user-page.tsx"),
  "access-reason-page": () => import("../user/access-reason-page.tsx"),
  "groups-page": () => import("../group/groups-page.tsx"),
  "group-page": () => import("../group/group-page.tsx"),
  "organizations-page": () => import("../organization/organizations-page.tsx"),
  "organization-page": () => import("../organization/organization-page.tsx"),
  "organization-policies-page": () => import("../policy/organization-policies-page.tsx"),
  "administrators-page": () => import("../administrator/administrators-page.tsx"),
  "refused-requests-page": () => import("../application/refused-requests-page.tsx"),
  "outbox-page": () => import("../message/outbox-page.tsx"),
  "providers-page": () => import("../provider/providers-page.tsx"),
  "identity-providers-page": () => import("../idp/identity-providers-page.tsx"),
  "texts-page": () => import("../text/texts-page.tsx"),
  "signing-keys-page": () => import("../instance/signing-keys-page.tsx"),
  "scripts-page": () => import("../script/scripts-page.tsx"),
  "script-page": () => import("../script/script-page.tsx"),
  "events-page": () => import("../event/events-page.tsx"),
  "nodes-page": () => import("../instance/nodes-page.tsx"),
  "transfer-page": () => import("../transfer/transfer-page.tsx"),
  "targets-page": () => import("../target/targets-page.tsx"),
  "target-page": () => import("../target/target-page.tsx"),
  "settings-page": () => import("../instance/settings-page.tsx"),
  "profile-page": () => import("../account/profile-page.tsx"),
  "security-page": () => import("../account/security-page.tsx"),
  "sessions-page": () => import("../account/sessions-page.tsx"),
  "data-page": () => import("../account/data-page.tsx"),
} as const

type Files = typeof pageFiles

type ComponentOf<Name extends keyof Files> = keyof Awaited<ReturnType<Files[Name]>> & string

type PascalCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${Capitalize<First>}${PascalCase<Rest>}`
  : Capitalize<Name>

/** Pages whose component is named like their file: ProjectPage in project-page.tsx. */
type DefaultComponentFile = {
  [Name in keyof Files]: PascalCase<Name> extends ComponentOf<Name> ? Name : never
}[keyof Files]

const pascalCase = (name: string) =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** A page is loaded on its first visit, together with its texts. */
function createPageRoute<Path extends string, Name extends keyof Files>(
  path: Path,
  ...[name, component]: readonly [name: DefaultComponentFile] | readonly [Name, ComponentOf<Name>]
) {
  const load = async (): Promise<Record<string, ComponentType>> => {
    const [module] = await Promise.all([pageFiles[name](), loadPageTexts(name)])
    return module
  }
  const lazy = lazyRouteComponent(load, component ?? pascalCase(name))
  return createRoute({ getParentRoute, path, component: lazy })
}

const homeRoute = createRoute({
  getParentRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/projects", replace: true })
  },
})

const projectsRoute = createRoute({
  getParentRoute,
  path: "/projects",
  // The start page and the list components are part of the shell chunk, so that they need no
  // further request.
  component: ProjectsPage,
})

const routeTree = rootRoute.addChildren([
  homeRoute,
  projectsRoute,
  createPageRoute("/projects/$projectId", "project-page"),
  createPageRoute("/projects/$projectId/new-application", "new-application-page"),
  createPageRoute("/granted-projects/$projectId", "granted-project-page"),
  createPageRoute("/applications", "applications-page"),
  createPageRoute("/applications/new", "new-application-page", "AnyNewApplicationPage"),
  createPageRoute("/applications/$applicationId", "application-page"),
  createPageRoute("/users", "users-page"),
  createPageRoute("/users/new", "new-user-page"),
  createPageRoute("/users/sign-ups", "sign-ups-page"),
  createPageRoute("/users/$userId", "user-page"),
  createPageRoute("/users/$userId/why", "access-reason-page"),
  createPageRoute("/groups", "groups-page"),
  createPageRoute("/groups/$groupId", "group-page"),
  createPageRoute("/organizations", "organizations-page"),
  createPageRoute("/organizations/$organizationId", "organization-page"),
  createPageRoute("/organizations/$organizationId/policies", "organization-policies-page"),
  createPageRoute("/administrators", "administrators-page"),
  createPageRoute("/refused-requests", "refused-requests-page"),
  createPageRoute("/refused-requests/$requestId", "refused-requests-page", "RefusedRequestPage"),
  createPageRoute("/outbox", "outbox-page"),
  createPageRoute("/providers", "providers-page"),
  createPageRoute("/identity-providers", "identity-providers-page"),
  createPageRoute(
    "/organizations/$organizationId/identity-providers",
    "identity-providers-page",
    "OrganizationIdentityProvidersPage",
  ),
  createPageRoute("/texts", "texts-page"),
  createPageRoute("/organizations/$organizationId/texts", "texts-page", "OrganizationTextsPage"),
  createPageRoute("/signing-keys", "signing-keys-page"),
  createPageRoute("/scripts", "scripts-page"),
  createPageRoute("/scripts/$scriptId", "script-page"),
  createPageRoute("/events", "events-page"),
  createPageRoute("/nodes", "nodes-page"),
  createPageRoute("/transfer", "transfer-page"),
  createPageRoute("/targets", "targets-page"),
  createPageRoute("/targets/$targetId", "target-page"),
  createPageRoute("/settings", "settings-page"),
  createPageRoute("/account", "profile-page"),
  createPageRoute("/account/security", "security-page"),
  createPageRoute("/account/sessions", "sessions-page"),
  createPageRoute("/account/data", "data-page"),
])

const isAccount = (pathname: string) => /^\/account(\/|$)/.test(pathname)

export const router = createRouter({
  routeTree,
  basepath: "/ui",
  // The account pages are next to the console: /ui/account is "/account", /ui/console/users is
  // "/users".
  rewrite: {
    input: ({ url }) => {
      url.pathname = url.pathname.replace(/^\/console(?=\/|$)/, "") || "/"
      return url
    },
    output: ({ url }) => {
      if (!isAccount(url.pathname)) url.pathname = `/console${url.pathname}`
      return url
    },
  },
  // If a page fails, the navigation stays visible.
  defaultErrorComponent: FailedPage,
  // Shows a placeholder while a page or the session is loading.
  defaultPendingComponent: PageLoading,
  defaultPendingMinMs: 0,
  // Another resource remounts the page, so that no secret, error or open form of the previous one
  // remains.
  defaultRemountDeps: ({ params }) => params,
  // Preloads a page when the pointer approaches its link.
  defaultPreload: "intent",
  scrollRestoration: true,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const parameters = Object.entries(search).filter(([, value]) => value !== undefined)
    const text = new URLSearchParams(
      parameters.map(([key, value]) => [key, String(value)]),
    ).toString()
    return text && `?${text}`
  },
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}

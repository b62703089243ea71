import { useSyncExternalStore } from "react"

/** Every page of the console, with what its address carries. */
export type Route =
  | { readonly page: "projects" }
  | { readonly page: "project"; readonly projectId: string }
  | { readonly page: "granted-project"; readonly projectId: string }
  | { readonly page: "new-application"; readonly projectId: string }
  | { readonly page: "application"; readonly applicationId: string }
  | { readonly page: "applications" }
  | { readonly page: "users" }
  | { readonly page: "new-user" }
  | { readonly page: "user"; readonly userId: string }
  | { readonly page: "groups" }
  | { readonly page: "organizations" }
  | { readonly page: "organization"; readonly organizationId: string }
  | { readonly page: "administrators" }
  | { readonly page: "refused-requests"; readonly requestId?: string }
  | { readonly page: "signing-keys" }
  | { readonly page: "settings" }
  | { readonly page: "missing" }

const base = "/ui/console"

/** The page an address means. */
export function routeOf(path: string): Route {
  const [first, second, third, ...more] = path.slice(base.length).split("/").filter(Boolean)
  if (more.length > 0) return { page: "missing" }
  if (first === undefined) return { page: "projects" }
  const id = second === undefined ? undefined : decodeURIComponent(second)
  if (third !== undefined) {
    const adds = first === "projects" && third === "new-application" && id !== undefined
    return adds ? { page: "new-application", projectId: id } : { page: "missing" }
  }
  return id === undefined ? listOf(first) : detailOf(first, id)
}

const lists = [
  "projects",
  "applications",
  "users",
  "groups",
  "organizations",
  "administrators",
  "refused-requests",
  "signing-keys",
  "settings",
] as const

function listOf(first: string): Route {
  const page = lists.find((list) => list === first)
  return page ? { page } : { page: "missing" }
}

function detailOf(first: string, id: string): Route {
  if (first === "projects") return { page: "project", projectId: id }
  if (first === "granted-projects") return { page: "granted-project", projectId: id }
  if (first === "applications") return { page: "application", applicationId: id }
  if (first === "organizations") return { page: "organization", organizationId: id }
  if (first === "refused-requests") return { page: first, requestId: id }
  if (first === "users") return id === "new" ? { page: "new-user" } : { page: "user", userId: id }
  return { page: "missing" }
}

/** The address of a page; the inverse of `routeOf`. */
export function pathOf(route: Route): string {
  switch (route.page) {
    case "project":
      return `${base}/projects/${encodeURIComponent(route.projectId)}`
    case "granted-project":
      return `${base}/granted-projects/${encodeURIComponent(route.projectId)}`
    case "new-application":
      return `${base}/projects/${encodeURIComponent(route.projectId)}/new-application`
    case "application":
      return `${base}/applications/${encodeURIComponent(route.applicationId)}`
    case "user":
      return `${base}/users/${encodeURIComponent(route.userId)}`
    case "organization":
      return `${base}/organizations/${encodeURIComponent(route.organizationId)}`
    case "new-user":
      return `${base}/users/new`
    case "refused-requests":
      if (!route.requestId) return `${base}/${route.page}`
      return `${base}/${route.page}/${encodeURIComponent(route.requestId)}`
    case "missing":
      return base
    default:
      return `${base}/${route.page}`
  }
}

const moved = "latchkey:moved"

/** Goes to a page without loading a document; the Back button returns. */
export function go(route: Route, how: "push" | "replace" = "push"): void {
  const path = pathOf(route)
  if (how === "push") history.pushState(null, "", path)
  else history.replaceState(null, "", path)
  window.dispatchEvent(new Event(moved))
  window.scrollTo(0, 0)
}

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => location.pathname))
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("popstate", changed)
  window.addEventListener(moved, changed)
  return () => {
    window.removeEventListener("popstate", changed)
    window.removeEventListener(moved, changed)
  }
}

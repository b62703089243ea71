import { expect, test } from "vitest"
import { checks, deliveries } from "../../src/server/metrics/event-kind.ts"
import { routeGroup, routeGroups } from "../../src/server/metrics/route-group.ts"
import { aggregates } from "../../src/server/modules.ts"

test("each event that is counted is one that is written", () => {
  const written = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
  const counted = [...checks.keys(), ...deliveries.keys()]
  expect(counted.filter((type) => !written.has(type))).toEqual([])
})

test("a path belongs to one of the groups", () => {
  const paths = ["/oauth/v2/token", "/ui/login/password", "/ui/console/", "/saml/v2/SSO", "/x"]
  expect(paths.map(routeGroup)).toEqual(["token", "login", "console", "saml", "other"])
  expect(routeGroup("/forward-auth/id.example.com/1/check")).toBe("forwardAuth")
  expect(routeGroups).toContain(routeGroup("/core.user.v2.UserService/ListUsers"))
})

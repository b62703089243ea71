import { useSuspenseQuery } from "@tanstack/react-query"
import { callJson } from "./call-json.ts"

/**
 * The caller's permissions in an organization, or on the instance without one. Permissions on a
 * single project contain its ID: "project.read:123".
 */
export function usePermissions(organizationId?: string): readonly string[] {
  const { data } = useSuspenseQuery({
    queryKey: ["permissions", organizationId],
    queryFn: async ({ signal }) => {
      const method = "core.auth.v1.AuthService/ListMyCorePermissions"
      const answer = await callJson(method, {}, { signal, within: organizationId })
      const permissions: unknown = answer?.result
      return Array.isArray(permissions) ? permissions.map(String) : []
    },
  })
  return data
}

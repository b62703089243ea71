import { useSuspenseQuery } from "@tanstack/react-query"
import { callJson } from "./call-json.ts"

/**
 * What one may do in an organisation, or on the instance where none is named. What is held on one
 * project alone carries its id: "project.read:123".
 */
export function usePermissions(organizationId?: string): readonly string[] {
  const { data } = useSuspenseQuery({
    queryKey: ["permissions", organizationId],
    queryFn: async ({ signal }) => {
      const method = "core.auth.v1.AuthService/ListMyCorePermissions"
      const answer = await callJson(method, {}, { signal, within: organizationId })
      const held: unknown = answer?.result
      return Array.isArray(held) ? held.map(String) : []
    },
  })
  return data
}

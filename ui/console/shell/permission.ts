import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { useSuspenseQuery } from "@tanstack/react-query"
import { access } from "../../../src/gen/core/options_pb.ts"
import { readPlain } from "./plain.ts"

/**
 * Whether one may call an operation in an organisation, or of the instance: by the permission that
 * the operation itself asks for. What one may not do is not offered.
 */
export function useMay(organizationId?: string): (method: DescMethod) => boolean {
  const { data } = useSuspenseQuery({
    queryKey: ["permissions", organizationId],
    queryFn: async ({ signal }) => {
      const method = "core.auth.v1.AuthService/ListMyCorePermissions"
      const answer = await readPlain(method, {}, { signal, within: organizationId })
      const held: unknown = answer?.result
      return Array.isArray(held) ? held.map(String) : []
    },
  })
  return (method) => data.includes(getOption(method, access).permission)
}

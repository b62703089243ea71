import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { access } from "../../../src/gen/core/options_pb.ts"
import { usePermissions } from "./held.ts"

/**
 * Whether one may call an operation in an organisation, or of the instance: by the permission that
 * the operation itself asks for. What one may not do is not offered.
 */
export function useMay(organizationId?: string): (method: DescMethod) => boolean {
  const held = usePermissions(organizationId)
  return (method) => held.includes(getOption(method, access).permission)
}

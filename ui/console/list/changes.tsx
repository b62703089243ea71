import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { History } from "./history.tsx"

// In a file of their own: the descriptor of this service weighs more than most pages.

type ProjectProps = { readonly projectId: string }

export function ProjectChanges({ projectId }: ProjectProps) {
  return (
    <History
      method={ManagementService.method.listProjectChanges}
      ask={(query) => ({ projectId, query })}
      find={({ result }) => result}
    />
  )
}

type ApplicationProps = ProjectProps & { readonly appId: string }

export function ApplicationChanges({ projectId, appId }: ApplicationProps) {
  return (
    <History
      method={ManagementService.method.listAppChanges}
      ask={(query) => ({ projectId, appId, query })}
      find={({ result }) => result}
    />
  )
}

import type { Project } from "../../../src/gen/core/project/v2/project_pb.ts"

/** What every part of a project's page is handed. */
export type ProjectPart = { readonly project: Project }

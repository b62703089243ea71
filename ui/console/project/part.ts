import type { Project } from "../../../src/gen/core/project/v2/project_pb.ts"

/** Props of all parts of the project page. */
export type ProjectPart = { readonly project: Project }

import { ActionService } from "../gen/core/action/v2/action_service_pb.ts"
import { ActivityService } from "../gen/core/activity/v2/activity_service_pb.ts"
import { AdminService } from "../gen/core/admin/v1/admin_service_pb.ts"
import { ApplicationService } from "../gen/core/application/v2/application_service_pb.ts"
import { AssetService } from "../gen/core/asset/v1/asset_service_pb.ts"
import { AuthService } from "../gen/core/auth/v1/auth_service_pb.ts"
import { AuthorizationService } from "../gen/core/authorization/v2/authorization_service_pb.ts"
import { DiagnosisService } from "../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { FeatureService } from "../gen/core/feature/v2/feature_service_pb.ts"
import { GroupService } from "../gen/core/group/v2/group_service_pb.ts"
import { HistoryService } from "../gen/core/history/v2/history_service_pb.ts"
import { IdentityProviderService } from "../gen/core/idp/v2/idp_service_pb.ts"
import { InstanceService } from "../gen/core/instance/v2/instance_service_pb.ts"
import { InternalPermissionService } from "../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { ManagementService } from "../gen/core/management/v1/management_service_pb.ts"
import { MessageService } from "../gen/core/message/v2/message_service_pb.ts"
import { OIDCService } from "../gen/core/oidc/v2/oidc_service_pb.ts"
import { OrganizationService } from "../gen/core/org/v2/organization_service_pb.ts"
import { ProjectService } from "../gen/core/project/v2/project_service_pb.ts"
import { CoreActions } from "../gen/core/resources/action/v3alpha/action_service_pb.ts"
import { CoreWebKeys } from "../gen/core/resources/webkey/v3alpha/webkey_service_pb.ts"
import { SAMLService } from "../gen/core/saml/v2/saml_service_pb.ts"
import { SessionService } from "../gen/core/session/v2/session_service_pb.ts"
import { SettingsService } from "../gen/core/settings/v2/settings_service_pb.ts"
import { SignUpService } from "../gen/core/signup/v2/signup_service_pb.ts"
import { SystemService } from "../gen/core/system/v1/system_service_pb.ts"
import { UserService } from "../gen/core/user/v2/user_service_pb.ts"
import { WebKeyService } from "../gen/core/webkey/v2/webkey_service_pb.ts"

/**
 * All services that the server provides. The check fails if a service in proto/ is missing here.
 */
export const allServices = [
  ActionService,
  ActivityService,
  AdminService,
  ApplicationService,
  AssetService,
  AuthorizationService,
  AuthService,
  GroupService,
  CoreActions,
  CoreWebKeys,
  DiagnosisService,
  FeatureService,
  HistoryService,
  IdentityProviderService,
  InstanceService,
  InternalPermissionService,
  ManagementService,
  MessageService,
  OIDCService,
  OrganizationService,
  ProjectService,
  SAMLService,
  SessionService,
  SettingsService,
  SignUpService,
  SystemService,
  UserService,
  WebKeyService,
] as const

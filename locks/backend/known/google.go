package known

import "github.com/leaderrun/leaderrun/locks/backend"

// What all clients of Google's services have in common.
const (
	accountFile    = "GOOGLE_APPLICATION_CREDENTIALS"
	insteadOfLogin = "name a file with credentials in " + accountFile
)

// googleVariables returns those of a service, after the two that name the place and an emulator.
func googleVariables(place, emulator string) []backend.Variable {
	return []backend.Variable{
		{Name: place, About: backend.Address},
		{Name: emulator},
		{Name: accountFile, About: backend.User, Secret: true, SDK: true},
		// Credentials may be those of an external account, which is AWS, or a token for S2A.
		{Name: "AWS_SECRET_ACCESS_KEY", About: backend.User, Secret: true, SDK: true, Ambient: true},
		{Name: "AWS_SESSION_TOKEN", About: backend.User, Secret: true, SDK: true, Ambient: true},
		{Name: "S2A_ACCESS_TOKEN", About: backend.User, Secret: true, SDK: true, Ambient: true},
	}
}

// googleRefused returns those of gcloud, which has a login of its own. The first names another
// address of the service.
func googleRefused(address string) []backend.Refused {
	return []backend.Refused{
		{Name: address, Unless: "endpoint", Instead: "give endpoint="},
		{Name: "CLOUDSDK_CORE_UNIVERSE_DOMAIN", Unless: "GOOGLE_CLOUD_UNIVERSE_DOMAIN", Except: []string{"googleapis.com"}, Instead: "set GOOGLE_CLOUD_UNIVERSE_DOMAIN"},
		{Name: "CLOUDSDK_CONFIG", Unless: accountFile, File: "application_default_credentials.json", Instead: "name that file in " + accountFile},
		{Name: "CLOUDSDK_AUTH_ACCESS_TOKEN", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", Unless: accountFile, Instead: insteadOfLogin},
		{Name: "CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT", Unless: accountFile, Instead: insteadOfLogin},
	}
}

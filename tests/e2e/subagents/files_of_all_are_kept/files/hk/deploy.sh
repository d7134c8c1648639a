echo deployed
